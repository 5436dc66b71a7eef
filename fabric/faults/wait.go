package faults

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// waiter waits in the inner waiter, in pieces: the inner one does not know of
// held messages, so no piece is longer than until the next of these is due.
type waiter struct {
	fabric.Waiter // the inner one
	dev           *Device
	cqs           []*cq
	woken         atomic.Bool

	// Of the current Wait.
	look  func() bool // w.step, made once
	poll  func() bool // the program's
	until int64       // when the piece ends
	hit   bool
}

// NewWaiter implements fabric.Device.
func (d *Device) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	cqs, err := base.CQs(cfg.CQs, d.Name(), func(c *cq) bool { return c.dev == d })
	if err != nil {
		return nil, err
	}
	cfg.CQs = make([]fabric.CQ, len(cqs))
	for i, c := range cqs {
		cfg.CQs[i] = c.inner
	}
	w := &waiter{dev: d, cqs: cqs}
	w.look = w.step
	if w.Waiter, err = d.Device.NewWaiter(cfg); err != nil {
		return nil, err
	}
	return w, nil
}

// Wait implements fabric.Waiter.
func (w *waiter) Wait(poll func() bool, timeout time.Duration) bool {
	deadline := int64(never)
	if timeout > 0 {
		deadline = base.After(w.dev.clock.Now(), timeout)
	}
	w.poll = poll
	for {
		piece := time.Duration(0)
		if w.until = min(deadline, w.next()); w.until != never {
			piece = time.Duration(max(w.until-w.dev.clock.Now(), 1))
		}
		w.Waiter.Wait(w.look, piece)
		switch {
		case w.hit:
			return true
		case w.woken.Swap(false), deadline != never && w.dev.clock.Now() >= deadline:
			return false
		}
		// Only the piece is over, or the inner waiter had a wake-up left that
		// was answered before.
	}
}

// step is what the inner waiter polls. It ends the piece, by true, when the
// program found something or when something is due before the piece is over.
func (w *waiter) step() bool {
	for _, c := range w.cqs {
		c.progress()
	}
	w.hit = w.poll()
	return w.hit || w.next() < w.until
}

// next returns when the first thing is due.
func (w *waiter) next() int64 {
	at := int64(never)
	for _, c := range w.cqs {
		at = min(at, c.next())
	}
	return at
}

// Wake implements fabric.Waiter.
func (w *waiter) Wake() {
	w.woken.Store(true)
	w.Waiter.Wake()
}
