package faults

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// waiter waits in the inner waiter, in pieces: the inner one does not know of
// held messages, so no piece is longer than until the next of these is due.
type waiter struct {
	inner fabric.Waiter
	dev   *Device
	cqs   []*cq
	woken atomic.Bool

	// Of the current Wait.
	look  func() bool // w.poll, made once
	poll  func() bool // the program's
	until int64       // when the inner wait ends
	seen  int64       // everything due by then has been offered to poll
	hit   bool
}

// NewWaiter implements fabric.Device.
func (d *Device) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	w := &waiter{dev: d}
	inner := make([]fabric.CQ, len(cfg.CQs))
	for i, q := range cfg.CQs {
		c, ok := q.(*cq)
		if !ok || c.dev != d {
			return nil, fmt.Errorf("faults: waiter: completion queues must be of the wrapped device %s: %w",
				d.Name(), fabric.ErrInvalid)
		}
		w.cqs = append(w.cqs, c)
		inner[i] = c.inner
	}
	cfg.CQs = inner
	var err error
	if w.inner, err = d.Device.NewWaiter(cfg); err != nil {
		return nil, err
	}
	w.look = w.step
	return w, nil
}

// Wait implements fabric.Waiter.
func (w *waiter) Wait(poll func() bool, timeout time.Duration) bool {
	deadline := int64(never)
	if timeout > 0 {
		deadline = w.dev.clock.Now() + int64(timeout)
	}
	if w.woken.Load() {
		w.woken.Store(false)
		return poll()
	}
	w.poll, w.hit, w.seen = poll, false, 0
	if w.next(0) != never {
		w.seen = w.dev.clock.Now() // poll is called at once
	}
	for {
		w.until = min(deadline, w.next(w.seen))
		piece := time.Duration(0)
		if w.until != never {
			piece = time.Duration(max(w.until-w.dev.clock.Now(), 1))
		}
		again := w.inner.Wait(w.look, piece)
		switch {
		case w.hit:
			return true
		case again:
			continue
		case w.woken.Swap(false):
			return false
		case deadline != never && w.dev.clock.Now() >= deadline:
			return false
		}
		// Only the piece is over, or the inner waiter had a wake-up left that
		// was answered before.
	}
}

// step is what the inner waiter polls. It ends the piece, by true, when the
// program found something or when something is due before the piece is over.
func (w *waiter) step() bool {
	var now int64
	for _, c := range w.cqs {
		if len(c.busy) > 0 {
			// An owner may wait for memory and not poll: what is held must
			// move all the same.
			if now == 0 {
				now = w.dev.clock.Now()
			}
			c.progress(now)
			c.harvest(c.depth)
		}
	}
	w.seen = now
	if w.poll() {
		w.hit = true
		return true
	}
	// What became due since now was read has not been looked at yet.
	return w.next(now) < w.until
}

// next returns when the first thing is due, after now.
func (w *waiter) next(now int64) int64 {
	at := int64(never)
	for _, c := range w.cqs {
		at = min(at, c.next(now))
	}
	return at
}

// Wake implements fabric.Waiter.
func (w *waiter) Wake() {
	w.woken.Store(true)
	w.inner.Wake()
}

// Sleeps implements fabric.Waiter.
func (w *waiter) Sleeps() uint64 { return w.inner.Sleeps() }

// Close implements fabric.Waiter.
func (w *waiter) Close() error { return w.inner.Close() }
