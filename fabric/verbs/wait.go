//go:build rdma

package verbs

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// Waiter implements fabric.Waiter on completion channels.
type Waiter struct {
	base.Sleeper
	solicitedOnly bool
	quirk         bool // see Quirks.SolicitedMissesFailures
	cqs           []*CQ
}

var _ fabric.Waiter = (*Waiter)(nil)

const (
	// Spinning calls poll this often between looks at the clock, and yields this
	// often before each sleep.
	spinBurst = 64
	yields    = 4
	// eventDelay is how long after a completion its event may come.
	eventDelay = 10 * time.Millisecond
)

// NewWaiter implements fabric.Device.
func (d *Device) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, d.errClosed()
	}
	w := &Waiter{solicitedOnly: cfg.SolicitedOnly, quirk: d.quirks.SolicitedMissesFailures}
	var err error
	if w.cqs, err = base.CQs(cfg.CQs, d.Name(), func(c *CQ) bool { return c.dev == d }); err != nil {
		return nil, err
	}
	fds := make([]int, 0, 2*len(w.cqs)) // channel and wake pipe of each queue
	for _, c := range w.cqs {
		fds = append(fds, int(c.hw.fd), c.Pipe.FD())
	}
	if err := w.Init(d.clock, &cfg, spinBurst, yields, eventDelay, w, fds...); err != nil {
		return nil, err
	}
	return w, nil
}

// Arm implements base.Source.
func (w *Waiter) Arm() (until int64) {
	until = math.MaxInt64
	for _, c := range w.cqs {
		if c.gone { // closed before its waiter
			return 0
		}
		c.Asleep.Store(1)
		c.hw.drain() // of former sleeps
		if err := c.hw.arm(w.solicitedOnly && !(w.quirk && c.outstanding())); err != nil {
			until = 0 // never sleep without
		}
		until = min(until, c.deadline())
	}
	return until
}

// outstanding reports whether requests are in flight whose failure would have
// to wake.
func (c *CQ) outstanding() bool {
	members := *c.members.Load()
	for i := range members {
		if s := members[i].Load(); s != nil && s.q.send == c && s.q.sendKnown != s.q.sendPosted {
			return true
		}
	}
	return false
}

// Pending implements base.Source. A note may have come after poll looked, and a
// look at one queue may have left completions for another, which poll had looked
// at before.
func (w *Waiter) Pending() bool {
	for _, c := range w.cqs {
		if c.Noted() || len(c.soft)+len(c.stash) != 0 || c.ahead != c.aheadEnd {
			return true
		}
	}
	return false
}

// Drain implements base.Source.
func (w *Waiter) Drain(fds []unix.PollFd) {
	for i, c := range w.cqs {
		if fds[2*i].Revents != 0 {
			c.hw.drain()
		}
		if fds[2*i+1].Revents != 0 {
			c.Pipe.Drain()
		}
	}
}

// Disarm implements base.Source.
func (w *Waiter) Disarm() {
	for _, c := range w.cqs {
		c.Asleep.Store(0)
	}
}
