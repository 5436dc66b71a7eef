package cache

import (
	"context"
	"errors"

	"github.com/remora-kv/remora/bench/internal/load"
	"github.com/remora-kv/remora/bench/internal/workload"
	"github.com/remora-kv/remora/internal/cycles"
)

// driver is a thread with its lane.
type driver struct {
	lane   lane
	stream *workload.Stream
	keys   workload.Keys
	values workload.Values
	key    []byte
	value  []byte
	slots  []slot
	free   []int // slots that are not on their way
	owed   []int // slots of gets that missed, whose keys are to be put
	fills  bool  // misses are followed by puts
	held   int   // slot of an operation that found no room; -1: none
	meter  *load.Meter

	sent, timed uint64 // in this run
}

// slot is an operation on its way.
type slot struct {
	index uint64
	stamp uint64
	tick  uint64 // when it was started; 0: it is not timed
	get   bool
}

func newDriver(l lane, c *Case, stream *workload.Stream) *driver {
	d := &driver{
		lane: l, stream: stream, held: -1, fills: c.Fill,
		keys: workload.NewKeys(c.KeySize), values: workload.NewValues(c.ValueSize), slots: make([]slot, c.most()),
	}
	d.key, d.value = d.keys.Buffer(), d.values.Buffer()
	for i := range d.slots {
		d.free = append(d.free, i)
	}
	return d
}

// Run implements load.Worker.
func (d *driver) Run(ctx context.Context, m *load.Meter) error {
	d.meter = m
	return load.OnThread(m, func() error { return d.work(ctx, m) })
}

func (d *driver) work(ctx context.Context, m *load.Meter) error {
	d.sent, d.timed = 0, 0
	end, look := m.Limit, m.LookEvery()
	for turn := look; ; turn-- {
		if turn == 0 {
			turn = look
			if m.Stopped() {
				return load.ErrStopped
			}
			if m.Over() {
				end = min(end, d.sent)
			}
		}
		if err := d.fill(end); err != nil {
			return err
		}
		if m.Ops == end {
			return nil
		}
		if err := d.lane.drain(ctx, d); err != nil {
			return err
		}
	}
}

// fill starts operations until the window is full or the run is at its end.
func (d *driver) fill(end uint64) error {
	for d.sent < end {
		i := d.held
		if i < 0 {
			if len(d.free)+len(d.owed) == 0 {
				return nil
			}
			i = d.next()
		}
		d.held = -1
		if err := d.start(i); err != nil {
			if d.held = i; errors.Is(err, errFull) {
				return nil
			}
			return err
		}
		d.sent++
	}
	return nil
}

// next puts the next operation into a slot: first of all what a miss has left to be put.
func (d *driver) next() int {
	if last := len(d.owed) - 1; last >= 0 {
		i := d.owed[last]
		d.owed = d.owed[:last]
		d.slots[i].get = false
		return i
	}
	last := len(d.free) - 1
	i := d.free[last]
	d.free = d.free[:last]
	s := &d.slots[i]
	s.index, s.get, s.stamp = d.stream.Next()
	return i
}

// start starts the operation of a slot.
func (d *driver) start(i int) error {
	s := &d.slots[i]
	key := d.keys.Fill(d.key, s.index)
	if !s.get {
		d.values.Fill(d.value, s.index, s.stamp)
	}
	s.tick = 0
	if d.sent == d.timed {
		d.timed += d.meter.Gap()
		s.tick = cycles.Now()
	}
	if s.get {
		return d.lane.get(i, key)
	}
	return d.lane.put(i, key, d.value)
}

// take takes the result of the operation of a slot (C5): the value of a get, or
// errMiss, or what the server says.
func (d *driver) take(i int, value []byte, err error) error {
	s, m := &d.slots[i], d.meter
	if s.tick != 0 {
		m.Record(cycles.Now() - s.tick)
	}
	if s.get {
		m.Gets++
	}
	m.Ops++
	if err == nil {
		d.free = append(d.free, i)
		if s.get {
			return d.values.Check(value, s.index)
		}
		return nil
	}
	if !errors.Is(err, errMiss) {
		m.Errors++
		m.Why(err)
	} else if m.Misses++; d.fills && s.get {
		d.owed = append(d.owed, i)
		return nil
	}
	d.free = append(d.free, i)
	return nil
}

// idle reports whether nothing is on its way.
func (d *driver) idle() bool { return d.sent == d.meter.Ops }
