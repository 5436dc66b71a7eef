package keli

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// roll is the goroutines of a team, but for that of its first worker. They do a part of a
// level when they are called, and wait in between.
type roll struct {
	halted  atomic.Bool   // a worker has failed: the others end their part
	turn    atomic.Uint64 // how many parts were called
	part    func(*walk)   // of the turn; nil: to go home
	pending atomic.Int64  // workers that are at the part
	waiters []fabric.Waiter
	leaves  []func() // by rank, nil or what to call at the end
	present sync.WaitGroup
}

// errQuit is of a worker whose function has ended its goroutine.
var errQuit = errors.New("keli: a visit has ended its goroutine")

// enlist notes what is to be called when a worker is not needed any more.
func (r *roll) enlist(leave func()) { r.leaves = append(r.leaves, leave) }

// muster starts the goroutines of all workers but the first.
func (t *team) muster(dev fabric.Device, policy fabric.Policy) error {
	for range t.walks {
		waiter, err := dev.NewWaiter(fabric.WaitConfig{Policy: policy})
		if err != nil {
			return err
		}
		t.waiters = append(t.waiters, waiter)
	}
	for _, w := range t.walks[1:] {
		t.present.Go(func() { t.serve(w) })
	}
	return nil
}

// all has every worker do a part, and returns when all have.
func (t *team) all(part func(*walk)) {
	t.pending.Store(int64(len(t.walks) - 1))
	t.call(part)
	part(t.walks[0])
	t.settle()
}

func (t *team) call(part func(*walk)) {
	t.part = part
	t.turn.Add(1)
	for _, waiter := range t.waiters[1:] {
		waiter.Wake()
	}
}

// settle waits until nobody is at a part.
func (t *team) settle() {
	for t.pending.Load() != 0 {
		t.waiters[0].Wait(func() bool { return t.pending.Load() == 0 }, 0)
	}
}

// serve does the parts of a worker.
func (t *team) serve(w *walk) {
	waiter, turn := t.waiters[w.worker.rank], uint64(0)
	called := func() bool { return t.turn.Load() != turn }
	for {
		for !called() {
			waiter.Wait(called, 0)
		}
		if turn++; t.part == nil {
			return
		}
		t.do(w)
	}
}

// do does the part of a worker. It tells that this has ended even if a function of the
// caller ends the goroutine.
func (t *team) do(w *walk) {
	ended := false
	defer func() {
		if !ended {
			w.worker.err = errQuit
			t.halted.Store(true)
		}
		if t.pending.Add(-1) == 0 {
			t.waiters[0].Wake()
		}
	}()
	t.part(w)
	ended = true
}

// disband sends the workers home, and gives back what they have.
func (t *team) disband() {
	if len(t.waiters) == len(t.walks) && len(t.walks) != 0 {
		t.halted.Store(true)
		t.settle()
		t.call(nil)
		t.present.Wait()
	}
	for _, waiter := range t.waiters {
		_ = waiter.Close()
	}
	for _, leave := range t.leaves {
		if leave != nil {
			leave()
		}
	}
}
