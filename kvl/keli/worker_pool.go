package keli

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// workerPool runs the workers of a group, except for the first one, in goroutines. A round is a
// function that all workers run once; between rounds they wait.
type workerPool struct {
	halted   atomic.Bool   // a worker has failed: the others end their part
	round    atomic.Uint64 // rounds that were started
	part     func(*walk)   // of the round; nil: return
	pending  atomic.Int64  // workers that have not finished the round
	waiters  []fabric.Waiter
	cleanups []func() // called by stop; may be nil
	running  sync.WaitGroup
}

// errQuit is the error of a worker whose visit function called runtime.Goexit or panicked.
var errQuit = errors.New("keli: a visit function ended its goroutine")

// onStop registers a function that stop calls.
func (p *workerPool) onStop(cleanup func()) { p.cleanups = append(p.cleanups, cleanup) }

// start starts the goroutines of all workers but the first.
func (g *group) start(dev fabric.Device, policy fabric.Policy) error {
	for range g.walks {
		waiter, err := dev.NewWaiter(fabric.WaitConfig{Policy: policy})
		if err != nil {
			return err
		}
		g.waiters = append(g.waiters, waiter)
	}
	for _, w := range g.walks[1:] {
		g.running.Go(func() { g.work(w) })
	}
	return nil
}

// runAll makes every worker run a part, and returns when all have.
func (g *group) runAll(part func(*walk)) {
	g.pending.Store(int64(len(g.walks) - 1))
	g.dispatch(part)
	part(g.walks[0])
	g.waitIdle()
}

func (g *group) dispatch(part func(*walk)) {
	g.part = part
	g.round.Add(1)
	for _, waiter := range g.waiters[1:] {
		waiter.Wake()
	}
}

// waitIdle waits until all workers have finished the round.
func (g *group) waitIdle() {
	for g.pending.Load() != 0 {
		g.waiters[0].Wait(func() bool { return g.pending.Load() == 0 }, 0)
	}
}

// work runs a worker until its part is nil.
func (g *group) work(w *walk) {
	waiter, turn := g.waiters[w.worker.index], uint64(0)
	called := func() bool { return g.round.Load() != turn }
	for {
		for !called() {
			waiter.Wait(called, 0)
		}
		if turn++; g.part == nil {
			return
		}
		g.runPart(w)
	}
}

// runPart runs the part of a worker. It counts the worker as finished even if a function of the
// caller ends the goroutine.
func (g *group) runPart(w *walk) {
	ended := false
	defer func() {
		if !ended {
			w.worker.err = errQuit
			g.halted.Store(true)
		}
		if g.pending.Add(-1) == 0 {
			g.waiters[0].Wake()
		}
	}()
	g.part(w)
	ended = true
}

// stop ends the goroutines of the workers and calls the functions of onStop.
func (g *group) stop() {
	if len(g.waiters) == len(g.walks) && len(g.walks) != 0 {
		g.halted.Store(true)
		g.waitIdle()
		g.dispatch(nil)
		g.running.Wait()
	}
	for _, waiter := range g.waiters {
		_ = waiter.Close()
	}
	for _, cleanup := range g.cleanups {
		if cleanup != nil {
			cleanup()
		}
	}
}
