package cache

import (
	"context"
	"errors"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/internal/fence"
)

// An open loop starts operations at times that do not depend on when others end (C13): as the
// clients of a service do, of whom none waits because another one does. Where the server, or
// the window, holds an operation up, its latency counts from when it should have begun.
// A closed loop asks less while the server is slow, and so misses just the latencies that
// matter: coordinated omission.

// pace is when the operations of a driver are to begin.
type pace struct {
	gap   float64 // ticks between two; 0: the loop is closed
	phase float64 // of the first, in gaps: drivers take turns
}

// newPace divides a rate in operations a second among drivers. This is number i of n.
func newPace(rate float64, i, n int, scale cycles.Scale) pace {
	if rate == 0 {
		return pace{}
	}
	return pace{gap: scale.PerSecond() * float64(n) / rate, phase: float64(i) / float64(n)}
}

// newPaced makes a driver that keeps the pace of its case; it is number i of them.
func (r *runner) newPaced(l lane, c *Case, stream *load.Stream, i int) *driver {
	d := newDriver(l, c, stream)
	d.pace = newPace(c.Rate, r.number(i), r.clients(c.Clients), r.Scale)
	if c.Trace != "" {
		d.follow(c, i, !r.cfg.once())
	}
	return d
}

// busy reports whether a connection must not wait.
func (k *Case) busy() bool { return k.Poll == fabric.Busy || k.Rate != 0 }

// at returns when operation k is to begin, in ticks since the start.
func (p *pace) at(k uint64) uint64 { return uint64((float64(k) + p.phase) * p.gap) }

// within returns how many are to begin in so many ticks.
func (p *pace) within(ticks uint64) uint64 {
	if n := float64(ticks)/p.gap - p.phase; n > 0 {
		return uint64(n) + 1
	}
	return 0
}

// workOpen is work at a pace.
func (d *driver) workOpen(ctx context.Context, m *load.Meter) error {
	start, end := cycles.Now(), m.Limit
	if ticks := m.Ticks(); ticks != 0 {
		end = d.pace.within(ticks)
	}
	d.sent, d.timed, d.flight = 0, 0, 0
	for {
		if m.Stopped() {
			return load.ErrStopped
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if m.Told() {
			end = min(end, d.sent)
		}
		now := cycles.Now()
		m.Look(now)
		if err := d.fillUntil(now-start, start, end); err != nil {
			return err
		}
		if done, err := d.over(); done || err != nil || m.Ops == end {
			return err
		}
		if d.idle() {
			for d.pace.at(d.sent) > cycles.Now()-start {
				fence.Pause()
			}
			continue
		}
		if err := d.lane.poll(d); err != nil {
			return err
		}
	}
}

// fillUntil starts what is to begin by now, in ticks since the start, as far as there is
// room.
func (d *driver) fillUntil(now, start, end uint64) error {
	for {
		at := d.pace.at(d.sent)
		i := d.next(d.sent < end && at <= now)
		if i < 0 {
			return nil
		}
		if err := d.startAt(i, start+at); err != nil {
			if d.held = i; errors.Is(err, errFull) {
				return nil
			}
			return err
		}
	}
}
