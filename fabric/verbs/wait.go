//go:build rdma

package verbs

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/spin"
)

// Waiter implements fabric.Waiter on completion channels.
type Waiter struct {
	cfg   fabric.WaitConfig
	clock fabric.Clock
	quirk bool // see Quirks.SolicitedMissesFailures
	cqs   []*CQ
	bell  *bell
	// fds are the waiter's bell, then channel and bell of each queue.
	fds []unix.PollFd

	spinner spin.Spinner

	asleep atomic.Uint32
	sleeps atomic.Uint64
	// rescues counts sleeps that nothing ended though there was something.
	rescues atomic.Uint64
	closed  bool
}

var _ fabric.Waiter = (*Waiter)(nil)

// NewWaiter implements fabric.Device.
func (d *Device) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	if cfg.Spin == 0 {
		cfg.Spin = fabric.DefaultSpin
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, d.errClosed()
	}
	w := &Waiter{
		cfg: cfg, clock: d.clock, quirk: d.quirks.SolicitedMissesFailures,
		spinner: spin.Spinner{Clock: d.clock, Policy: cfg.Policy, Time: cfg.Spin, Burst: spinBurst, Yields: yields},
	}
	for _, c := range cfg.CQs {
		cq, ok := c.(*CQ)
		if !ok || cq.dev != d {
			return nil, fmt.Errorf("fabric: waiter: completion queues must be of device %s: %w", d.Name(), fabric.ErrInvalid)
		}
		w.cqs = append(w.cqs, cq)
	}
	var err error
	if w.bell, err = newBell(); err != nil {
		return nil, err
	}
	w.fds = append(w.fds, unix.PollFd{Fd: int32(w.bell.fd), Events: unix.POLLIN})
	for _, c := range w.cqs {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(c.hw.fd), Events: unix.POLLIN},
			unix.PollFd{Fd: int32(c.bell.fd), Events: unix.POLLIN})
	}
	return w, nil
}

// maxSleep bounds a single sleep: an adapter that loses an event must not put
// a program to sleep for good.
const maxSleep = 200 * time.Millisecond

// Spinning calls poll this often between looks at the clock, and yields this
// often before each sleep.
const (
	spinBurst = 64
	yields    = 4
)

// Wait implements fabric.Waiter.
func (w *Waiter) Wait(poll func() bool, timeout time.Duration) bool {
	if poll() {
		return true
	}
	return w.spinner.Wait(poll, func(deadline int64) bool { return w.sleep(poll, deadline) }, timeout)
}

// sleep blocks until something happens, after arming everything that can tell
// and looking once more: a completion that came before is seen, one that comes
// later makes an event. It reports whether poll found something.
func (w *Waiter) sleep(poll func() bool, deadline int64) bool {
	w.asleep.Store(1)
	until := min(deadline, w.arm())
	if w.cfg.Doze != nil {
		w.cfg.Doze()
	}
	hit := poll()
	if !hit && !w.spinner.Woken() && !w.pending() {
		w.sleeps.Add(1)
		longest := w.clock.Now() + int64(maxSleep)
		if rung := w.block(min(until, longest)); !rung && longest < until {
			if hit = poll(); hit && !w.eventComes() {
				w.rescues.Add(1)
			}
		}
	}
	w.asleep.Store(0)
	for _, c := range w.cqs {
		c.asleep.Store(0)
	}
	if w.cfg.Undoze != nil {
		w.cfg.Undoze()
	}
	return hit
}

// eventComes reports whether there is an event after all for what was found
// when a sleep had ended by itself: the completion came in that moment.
func (w *Waiter) eventComes() bool {
	const soon = 10 // milliseconds
	n, _ := unix.Poll(w.fds, soon)
	return n > 0
}

// arm asks for events and returns when the clock has news: the earliest
// request that fails for want of a receive.
func (w *Waiter) arm() (until int64) {
	until = math.MaxInt64
	for _, c := range w.cqs {
		if c.gone { // closed before its waiter
			return 0
		}
		c.asleep.Store(1)
		c.hw.drain() // of former sleeps
		if err := c.hw.arm(w.cfg.SolicitedOnly && !(w.quirk && c.outstanding())); err != nil {
			until = 0 // never sleep without
		}
		until = min(until, c.deadline())
	}
	return until
}

// outstanding reports whether requests are under way whose failure would have
// to wake.
func (c *CQ) outstanding() bool {
	seats := *c.seats.Load()
	for i := range seats {
		if s := seats[i].Load(); s != nil && s.q.send == c && s.q.sendKnown != s.q.sendPosted {
			return true
		}
	}
	return false
}

// pending reports whether there is something that makes no event: a note that
// came after poll looked, or completions that a look at one queue has left for
// another, which poll had looked at before.
func (w *Waiter) pending() bool {
	for _, c := range w.cqs {
		if c.attention.Load() != 0 || len(c.soft)+len(c.stash) != 0 || c.ahead != c.aheadEnd {
			return true
		}
	}
	return false
}

// block waits for an event until a moment of the clock, and reports whether
// one came.
func (w *Waiter) block(until int64) bool {
	left := until - w.clock.Now()
	if left <= 0 {
		return false
	}
	n, err := unix.Poll(w.fds, int((left+999_999)/1_000_000))
	if err != nil {
		return errors.Is(err, unix.EINTR)
	}
	if w.fds[0].Revents != 0 {
		w.bell.drain()
	}
	for i, c := range w.cqs {
		if w.fds[1+2*i].Revents != 0 {
			c.hw.drain()
		}
		if w.fds[2+2*i].Revents != 0 {
			c.bell.drain()
		}
	}
	return n > 0
}

// Wake implements fabric.Waiter.
func (w *Waiter) Wake() {
	w.spinner.Wake()
	if w.asleep.Load() != 0 {
		w.bell.ring()
	}
}

// Sleeps implements fabric.Waiter.
func (w *Waiter) Sleeps() uint64 { return w.sleeps.Load() }

// Rescues returns how often a sleep had to end by itself though there was
// something to find. Memory that a peer wrote counts too: a WRITE makes no
// event (G17).
func (w *Waiter) Rescues() uint64 { return w.rescues.Load() }

// Close implements fabric.Waiter.
func (w *Waiter) Close() error {
	if w.closed {
		return fmt.Errorf("fabric: waiter: %w", fabric.ErrClosed)
	}
	w.closed = true
	w.bell.close()
	return nil
}
