package call

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/bench/internal/cputime"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// worker is what makes calls during a run, in a goroutine of its own.
type worker interface {
	run(m *meter) error
}

// errStopped ends a run before its time: nobody wants its result.
var errStopped = errors.New("stopped")

// stopLook bounds how long a driver waits without a look at the stop sign.
const stopLook = 100 * time.Millisecond

// driver is a thread with its lanes.
type driver struct{ lanes []*lane }

func (d *driver) run(m *meter) error {
	before, err := cputime.Thread()
	if err != nil {
		return err
	}
	for _, l := range d.lanes {
		l.begin(m)
	}
	work := d.many
	if len(d.lanes) == 1 {
		work = d.one
	}
	if err := work(m); err != nil {
		return err
	}
	m.end = cycles.Now()
	after, err := cputime.Thread()
	m.cpu = after - before
	return err
}

// one drives a single lane, and waits where there is nothing to do.
func (d *driver) one(m *meter) error {
	l, look := d.lanes[0], m.lookEvery()
	for turn := look; l.got < l.end; turn-- {
		if turn == 0 {
			turn = look
			if m.stop.Load() {
				return errStopped
			}
			if m.over() {
				l.end = min(l.end, l.sent)
			}
		}
		if err := l.fill(m); err != nil {
			return err
		}
		if l.got == l.end {
			break
		}
		for !l.conn.Wait(stopLook) {
			if err := l.conn.Err(); err != nil {
				return err
			}
			if m.stop.Load() {
				return errStopped
			}
		}
		if err := l.drain(m); err != nil {
			return err
		}
	}
	return nil
}

// many drives several lanes in turn.
func (d *driver) many(m *meter) error {
	look := m.lookEvery()
	for turn := look; ; turn-- {
		if turn == 0 {
			turn = look
			if m.stop.Load() {
				return errStopped
			}
			if m.over() {
				for _, l := range d.lanes {
					l.end = min(l.end, l.sent)
				}
			}
		}
		left := false
		for _, l := range d.lanes {
			if err := l.fill(m); err != nil {
				return err
			}
			if l.got == l.end {
				continue
			}
			left = true
			if l.conn.Poll() {
				if err := l.drain(m); err != nil {
					return err
				}
			}
		}
		if !left {
			return nil
		}
	}
}

// caller is one of the goroutines that share a client.
type caller struct {
	client *rfp.Client
	check  checker
	number uint64
	arg    []byte
	out    []byte
}

func newCaller(client *rfp.Client, c *Case, index int) *caller {
	return &caller{
		client: client, check: checker{c.Size, c.ResultSize}, number: uint64(index) << 40,
		arg: make([]byte, c.Size), out: make([]byte, 0, c.ResultSize),
	}
}

func (c *caller) run(m *meter) error {
	ctx, look := context.Background(), m.lookEvery()
	timed := m.ops
	for turn := look; m.ops < m.limit; turn-- {
		if turn == 0 {
			turn = look
			if m.stop.Load() {
				return errStopped
			}
			if m.over() {
				break
			}
		}
		c.number++
		c.check.number(c.arg, c.number)
		var start uint64
		if m.ops == timed {
			start = cycles.Now()
		}
		out, err := c.client.Call(ctx, procedure, c.arg, c.out[:0])
		if m.ops == timed {
			m.record(cycles.Now() - start)
			timed += m.gap()
		}
		var failure *rpc.Error
		switch {
		case err == nil:
			err = c.check.result(out, c.number)
		case errors.As(err, &failure):
			m.errs++
			err = nil
		}
		if err != nil {
			return err
		}
		m.ops++
	}
	m.end = cycles.Now()
	return nil
}
