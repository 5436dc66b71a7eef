package cache

import (
	"context"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench/load"
)

// hands are who does the operations of a trial: threads or goroutines of this process, or
// other processes.
type hands interface {
	// warm works and reports, but not for a row, and measure does for one.
	warm(ctx context.Context, b load.Budget) (load.Tally, error)
	measure(ctx context.Context, b load.Budget) (load.Tally, effort, error)
	// cpu is what other processes have used until now.
	cpu() (time.Duration, error)
	close() error
}

// hire makes the hands of a trial, connected with its target.
func (t *trial) hire(ctx context.Context) (hands, error) {
	if t.step.Processes != 0 {
		return t.muster(ctx)
	}
	workers, err := t.target.workers(ctx)
	runtime.GC()
	return ownHands{t, workers}, err
}

// ownHands are those of this process.
type ownHands struct {
	trial   *trial
	workers []load.Worker
}

func (h ownHands) warm(ctx context.Context, b load.Budget) (load.Tally, error) {
	return h.trial.work(ctx, h.workers, b)
}

func (h ownHands) measure(ctx context.Context, b load.Budget) (load.Tally, effort, error) {
	sum, err := h.trial.work(ctx, h.workers, b)
	return sum, effort{ops: sum.Ops}, err
}

func (ownHands) cpu() (time.Duration, error) { return 0, nil }
func (h ownHands) close() error              { return closeAll(h.workers) }

// look is a look at the target, and at what other processes have used.
func (t *trial) look(ctx context.Context, h hands) (glance, error) {
	g, err := t.target.look(ctx)
	if err != nil {
		return g, err
	}
	used, err := h.cpu()
	if err != nil {
		return g, err
	}
	g.Client += used
	g.Neighbours, err = t.pressure.CPU()
	return g, err
}
