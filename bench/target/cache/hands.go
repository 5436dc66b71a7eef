package cache

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/bench/load"
)

// hands are who does the operations of a trial: threads or goroutines of this process, or
// other processes.
type hands interface {
	// work does the operations of a budget.
	work(ctx context.Context, b load.Budget) (load.Tally, effort, error)
	// cpu is what other processes have used until now.
	cpu() (time.Duration, error)
	close() error
}

// effort is what a run took beside what was counted: all operations in its time, and the verbs
// that other processes have posted for them.
type effort struct {
	ops   uint64
	verbs load.Verbs
}

// hire makes the hands of a trial, connected with its server.
func (t *trial) hire(ctx context.Context) (hands, error) {
	if t.c.Processes != 0 {
		c, err := t.muster(ctx)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	workers, err := t.server.workers(ctx)
	return &ownHands{t, workers}, err
}

// ownHands are those of this process.
type ownHands struct {
	*trial
	workers []load.Worker
}

func (h *ownHands) work(ctx context.Context, b load.Budget) (load.Tally, effort, error) {
	sum, err := h.run(ctx, h.workers, b)
	return sum, effort{ops: sum.Ops}, err
}

// run lets all workers work until their budget is used up.
func (t *trial) run(ctx context.Context, workers []load.Worker, b load.Budget) (load.Tally, error) {
	var pin func(int) error
	if t.c.Goroutines == 0 {
		pin = load.PinInTurn(t.place.Client)
	}
	return load.Run(ctx, workers, b, t.Scale, pin)
}

func (*ownHands) cpu() (time.Duration, error) { return 0, nil }

// close ends the reading of traces.
func (h *ownHands) close() error {
	var errs []error
	for _, w := range h.workers {
		if d, ok := w.(*driver); ok {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
}
