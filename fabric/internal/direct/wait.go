package direct

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/spin"
	"github.com/remora-kv/remora/internal/fence"
)

// Waiter implements fabric.Waiter on bells.
type Waiter struct {
	cfg   fabric.WaitConfig
	clock fabric.Clock
	cqs   []*CQ
	bell  *Pipe
	fds   []unix.PollFd
	armed uint32 // what sleeping writes into the lanes

	spinner spin.Spinner

	asleep atomic.Uint32
	sleeps atomic.Uint64
	// rescues counts sleeps that no bell ended though there was something.
	rescues atomic.Uint64
	closed  bool
}

// NewWaiter implements fabric.Device.
func (d *Core) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	if cfg.Spin == 0 {
		cfg.Spin = fabric.DefaultSpin
	}
	if err := d.Open(); err != nil {
		return nil, err
	}
	bell, err := NewPipe()
	if err != nil {
		return nil, err
	}
	w := &Waiter{
		cfg: cfg, clock: d.clock, bell: bell, armed: armedAll,
		spinner: spin.Spinner{Clock: d.clock, Policy: cfg.Policy, Time: cfg.Spin, Burst: spinBurst, Yields: yields},
	}
	if cfg.SolicitedOnly {
		w.armed = armedSolicited
	}
	w.fds = append(w.fds, unix.PollFd{Fd: int32(bell.r), Events: unix.POLLIN})
	for _, c := range cfg.CQs {
		cq, ok := c.(*CQ)
		if !ok || cq.core != d {
			bell.Close()
			return nil, fmt.Errorf("fabric: waiter: completion queues must be of device %s: %w", d.name, fabric.ErrInvalid)
		}
		w.cqs = append(w.cqs, cq)
		w.fds = append(w.fds, unix.PollFd{Fd: int32(cq.bell.r), Events: unix.POLLIN})
	}
	return w, nil
}

// maxSleep bounds a single sleep. A bell cannot be lost by honest peers; one
// of the same user could drain it through /proc, and must not be able to put
// others to sleep for longer than this.
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

// sleep blocks until a bell rings, after arming everything that can ring it
// and looking once more (I3). It reports whether poll found something.
func (w *Waiter) sleep(poll func() bool, deadline int64) bool {
	w.asleep.Store(1)
	grown := w.grown()
	until := min(deadline, w.arm())
	if w.cfg.Doze != nil {
		w.cfg.Doze()
	}
	hit := poll()
	if !hit && !w.spinner.Woken() && w.grown() == grown && !w.stirring() {
		w.sleeps.Add(1)
		longest := w.clock.Now() + int64(maxSleep)
		if rung := w.block(min(until, longest)); !rung && longest < until {
			// What is found now may have come, and rung, after the sleep was over.
			if hit = poll(); hit && !w.rung() {
				w.rescues.Add(1)
			}
		}
	}
	w.asleep.Store(0)
	w.disarm()
	if w.cfg.Undoze != nil {
		w.cfg.Undoze()
	}
	return hit
}

// grown counts what has joined the completion queues: it may have come after
// they were armed, and is then not armed itself.
func (w *Waiter) grown() (n uint64) {
	for _, c := range w.cqs {
		n += c.grown
	}
	return n
}

// stirring reports whether there is something that the last poll did not see:
// it looks at a few of many sources, and may have filled a queue that had been
// polled before. What is found is put where the next poll looks.
func (w *Waiter) stirring() bool {
	for _, c := range w.cqs {
		if c.attention.Load() != 0 || c.head != c.tail {
			return true
		}
		for i, s := range c.listening {
			if s.ready() {
				c.cursor = i
				return true
			}
		}
	}
	return false
}

// block waits for a bell until a moment of the clock, and reports whether one
// rang or a signal came.
func (w *Waiter) block(until int64) bool {
	left := until - w.clock.Now()
	if left <= 0 {
		return false
	}
	return w.answer(int((left + 999_999) / 1_000_000))
}

// rung reports whether a bell has rung by now.
func (w *Waiter) rung() bool { return w.answer(0) }

// answer waits some milliseconds for a bell and takes what has rung.
func (w *Waiter) answer(limit int) bool {
	n, err := unix.Poll(w.fds, limit)
	if err != nil {
		return errors.Is(err, unix.EINTR)
	}
	for i := range w.fds {
		if w.fds[i].Revents == 0 {
			continue
		}
		if i == 0 {
			w.bell.drain()
		} else {
			w.cqs[i-1].bell.drain()
		}
	}
	return n > 0
}

// arm asks everybody who may have news to ring, and returns when the clock
// has news: the earliest request that fails for want of a receive.
func (w *Waiter) arm() (until int64) {
	until = math.MaxInt64
	for _, c := range w.cqs {
		c.asleep.Store(1)
		for _, s := range c.listening {
			if !s.qp.settled {
				s.h.armed.Store(w.armed)
			}
		}
		for _, q := range c.backlogged {
			if q.transport != fabric.UD {
				q.out.h.starved.Store(1)
			}
			if at, ok := q.rnrDeadline(); ok {
				until = min(until, at)
			}
		}
	}
	return until
}

func (w *Waiter) disarm() {
	for _, c := range w.cqs {
		c.asleep.Store(0)
		for _, s := range c.listening {
			if !s.qp.settled {
				fence.Publish32(&s.h.armed, armedNot)
			}
		}
		for _, q := range c.backlogged {
			if q.transport != fabric.UD {
				fence.Publish32(&q.out.h.starved, 0)
			}
		}
	}
}

// Wake implements fabric.Waiter.
func (w *Waiter) Wake() {
	w.spinner.Wake()
	if w.asleep.Load() != 0 {
		w.bell.Ring()
	}
}

// Sleeps implements fabric.Waiter.
func (w *Waiter) Sleeps() uint64 { return w.sleeps.Load() }

// Rescues returns how often a sleep had to end by itself though there was
// something to find. Memory that a peer wrote counts too: a WRITE rings no
// bell (G17).
func (w *Waiter) Rescues() uint64 { return w.rescues.Load() }

// Close implements fabric.Waiter.
func (w *Waiter) Close() error {
	if w.closed {
		return fmt.Errorf("fabric: waiter: %w", fabric.ErrClosed)
	}
	w.closed = true
	w.bell.Close()
	return nil
}
