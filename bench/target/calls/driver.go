package calls

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// stopLook bounds how long a driver waits without a look at the stop sign.
const stopLook = 100 * time.Millisecond

// driver is a thread with its lanes.
type driver struct{ lanes []*lane }

// Run implements load.Worker.
func (d *driver) Run(_ context.Context, m *load.Meter) error {
	return load.OnThread(m, func() error {
		for _, l := range d.lanes {
			l.begin(m)
			l.of = uint64(len(d.lanes))
		}
		if len(d.lanes) == 1 {
			return d.one(m)
		}
		return d.many(m)
	})
}

// one drives a single lane, and waits where there is nothing to do.
func (d *driver) one(m *load.Meter) error {
	l, look := d.lanes[0], m.LookEvery()
	for turn := look; l.got < l.end; turn-- {
		if turn == 0 {
			turn = look
			if m.Stopped() {
				return load.ErrStopped
			}
			if m.Over() {
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
			if m.Stopped() {
				return load.ErrStopped
			}
		}
		if err := l.drain(m); err != nil {
			return err
		}
	}
	return nil
}

// many drives several lanes in turn.
func (d *driver) many(m *load.Meter) error {
	look := m.LookEvery()
	for turn := look; ; turn-- {
		if turn == 0 {
			turn = look
			if m.Stopped() {
				return load.ErrStopped
			}
			if m.Over() {
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

// Run implements load.Worker.
func (c *caller) Run(_ context.Context, m *load.Meter) error {
	ctx, look := context.Background(), m.LookEvery()
	timed := m.Ops
	for turn := look; m.Ops < m.Limit; turn-- {
		if turn == 0 {
			turn = look
			if m.Stopped() {
				return load.ErrStopped
			}
			if m.Over() {
				break
			}
		}
		c.number++
		c.check.number(c.arg, c.number)
		var start uint64
		if m.Ops == timed {
			start = cycles.Now()
		}
		out, err := c.client.Call(ctx, procedure, c.arg, c.out[:0])
		if m.Ops == timed {
			m.Took(start, 1)
			timed += m.Gap()
		}
		var failure *rpc.Error
		switch {
		case err == nil:
			err = c.check.result(out, c.number)
		case errors.As(err, &failure):
			m.Errors++
			err = nil
		}
		if err != nil {
			return err
		}
		m.Ops++
	}
	m.End()
	return nil
}
