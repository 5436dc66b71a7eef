package load

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/cycles"
)

// Worker is what works during a run, in a goroutine of its own.
type Worker interface {
	// Run works until the budget of the meter is used up, says Meter.End and
	// returns. It returns ErrStopped when the meter says so, and looks at that at
	// least ten times in a second. ctx ends at the same time.
	Run(ctx context.Context, m *Meter) error
}

// ErrStopped ends a run before its time: nobody wants its result.
var ErrStopped = errors.New("stopped")

// Run lets all workers work until their budget is used up, one fails, or ctx is
// done. pin, when not nil, is called first by each of them, with its index.
func Run(ctx context.Context, workers []Worker, b Budget, scale cycles.Scale, pin func(i int) error) (Tally, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var stop atomic.Bool
	defer context.AfterFunc(inner, func() { stop.Store(true) })()
	var pinned, done sync.WaitGroup
	ready := make(chan struct{})
	errs, meters := make([]error, len(workers)), make([]*Meter, len(workers))
	pinned.Add(len(workers))
	var origin uint64
	for i, w := range workers {
		done.Go(func() {
			if pin != nil {
				errs[i] = pin(i)
			}
			pinned.Done()
			<-ready
			if errs[i] == nil {
				meters[i] = newMeter(b, scale, &stop, origin, i, len(workers))
				errs[i] = w.Run(inner, meters[i])
			}
			if errs[i] != nil {
				stop.Store(true)
				cancel()
			}
		})
	}
	pinned.Wait()
	origin = cycles.Now()
	close(ready)
	done.Wait()
	if err := ctx.Err(); err != nil {
		return Tally{}, err
	}
	if err := firstError(errs); err != nil {
		return Tally{}, err
	}
	var sum Tally
	for _, m := range meters {
		sum.add(m)
	}
	return sum, nil
}

// Forever is the time of a run that lasts until it is told to end: longer than any trial.
const Forever = 1000 * time.Hour

// Running is a run in the background.
type Running struct {
	until atomic.Bool
	ended chan struct{}
	sum   Tally
	err   error
}

// Start is Run in the background. It returns when all workers are pinned.
func Start(ctx context.Context, workers []Worker, b Budget, scale cycles.Scale, pin func(i int) error) *Running {
	r := &Running{ended: make(chan struct{})}
	b.Until = &r.until
	var pinned sync.WaitGroup
	if each := pin; each != nil {
		pinned.Add(len(workers))
		pin = func(i int) error {
			defer pinned.Done()
			return each(i)
		}
	}
	go func() {
		defer close(r.ended)
		r.sum, r.err = Run(ctx, workers, b, scale, pin)
	}()
	pinned.Wait()
	return r
}

// End tells the workers to end. It may be called from any goroutine.
func (r *Running) End() { r.until.Store(true) }

// Wait waits until they have ended, and returns what they did.
func (r *Running) Wait() (Tally, error) {
	<-r.ended
	return r.sum, r.err
}

// firstError is one that is not the consequence of another.
func firstError(errs []error) error {
	var stopped error
	for _, err := range errs {
		switch {
		case errors.Is(err, ErrStopped), errors.Is(err, context.Canceled):
			stopped = err
		case err != nil:
			return err
		}
	}
	return stopped
}

// PinInTurn pins workers to CPUs, in turn; a worker's thread is its own, ends with
// it, mask and all.
func PinInTurn(cpus []int) func(i int) error {
	return func(i int) error {
		runtime.LockOSThread()
		if len(cpus) == 0 {
			return nil
		}
		_, err := affinity.Pin(cpus[i%len(cpus)])
		return err
	}
}

// OnThread calls work, which is on a thread of its own, and notes what the thread
// used and that the worker is done.
func OnThread(m *Meter, work func() error) error {
	before, err := host.ThreadTime()
	if err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	m.End()
	after, err := host.ThreadTime()
	m.CPU = after - before
	return err
}
