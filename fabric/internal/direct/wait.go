package direct

import (
	"math"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/fence"
)

// Waiter implements fabric.Waiter on wake pipes.
type Waiter struct {
	base.Sleeper
	cqs      []*CQ
	provider Provider
	armed    uint32 // what sleeping writes into the rings
	armedAt  uint64 // grown, when that was written
}

// Spinning calls poll this often between looks at the clock, and yields this
// often before each sleep.
const (
	spinBurst = 64
	yields    = 4
)

// NewWaiter implements fabric.Device.
func (d *Core) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	w := &Waiter{provider: d.provider, armed: armedAll}
	if cfg.SolicitedOnly {
		w.armed = armedSolicited
	}
	var err error
	if w.cqs, err = base.CQs(cfg.CQs, d.name, func(c *CQ) bool { return c.core == d }); err != nil {
		return nil, err
	}
	fds := make([]int, len(w.cqs))
	for i, c := range w.cqs {
		fds[i] = c.Pipe.FD()
	}
	if err := w.Init(d.clock, &cfg, spinBurst, yields, 0, w, fds...); err != nil {
		return nil, err
	}
	w.SetPeers(w)
	return w, nil
}

// grown counts what has joined the completion queues: it may have come after
// they were armed, and is then not armed itself.
func (w *Waiter) grown() (n uint64) {
	for _, c := range w.cqs {
		n += c.grown
	}
	return n
}

// Pending implements base.Source. A poll looks at a few of many sources, and may
// have filled a queue that had been polled before. What is found is put where the
// next poll looks.
func (w *Waiter) Pending() bool {
	if w.grown() != w.armedAt {
		return true
	}
	for _, c := range w.cqs {
		if c.Noted() || c.head != c.tail {
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

// Drain implements base.Source.
func (w *Waiter) Drain(fds []unix.PollFd) {
	for i, c := range w.cqs {
		if fds[i].Revents != 0 {
			c.Pipe.Drain()
		}
	}
}

// Arm implements base.Source.
func (w *Waiter) Arm() (until int64) {
	w.armedAt = w.grown()
	until = math.MaxInt64
	for _, c := range w.cqs {
		c.Asleep.Store(1)
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

// Disarm implements base.Source.
func (w *Waiter) Disarm() {
	here := affinity.Here()
	for _, c := range w.cqs {
		c.here = here
		c.Asleep.Store(0)
		for _, s := range c.listening {
			if !s.qp.settled {
				fence.Publish32(&s.h.armed, armedNot)
				s.tell(here)
			}
		}
		for _, q := range c.backlogged {
			if q.transport != fabric.UD {
				fence.Publish32(&q.out.h.starved, 0)
			}
		}
	}
}
