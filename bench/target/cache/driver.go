package cache

import (
	"context"
	"errors"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/internal/cycles"
)

// driver is a thread with its lane.
type driver struct {
	lane   lane
	stream *load.Stream
	keys   load.Keys
	values load.Values
	key    []byte
	value  []byte
	slots  []slot
	free   []int // slots that are not in flight
	halves []int // slots of read-modify-writes whose gets are done, and whose puts are to begin
	owed   []int // slots of gets that missed, whose keys are to be put
	fills  bool  // misses are followed by puts
	held   int   // slot of an operation that found no room; -1: none
	meter  *load.Meter
	replay *replay // nil: the stream makes the operations
	pace   pace

	sent, timed uint64 // in this run
	flight      uint64 // operations in flight when results were last waited for; 0: the loop is open
}

// slot is an operation on its way.
type slot struct {
	index uint64
	stamp uint64
	tick  uint64 // when it was started; 0: it is not timed
	op    load.Op
	get   bool // it is a get that is on its way
}

// second reports whether an operation is in its second half: the put of a read-modify-write.
func (s *slot) second() bool { return s.op == load.Modify && !s.get }

func newDriver(l lane, c *Case, stream *load.Stream) *driver {
	d := &driver{
		lane: l, stream: stream, held: -1, fills: c.Fill,
		values: load.ValuesOf(c.valueSizes()), slots: make([]slot, c.most()),
	}
	if d.value = d.values.Buffer(); c.Trace == "" {
		d.keys = load.KeysOf(c.keySizes())
		d.key = d.keys.Buffer()
	}
	for i := range d.slots {
		d.free = append(d.free, i)
	}
	return d
}

// Run implements load.Worker.
func (d *driver) Run(ctx context.Context, m *load.Meter) error {
	d.meter = m
	return load.OnThread(m, func() error {
		if d.pace.gap != 0 {
			return d.workOpen(ctx, m)
		}
		return d.work(ctx, m)
	})
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
		if done, err := d.over(); done || err != nil || m.Ops == end {
			return err
		}
		d.flight = d.sent - m.Ops
		if err := d.lane.drain(ctx, d); err != nil {
			return err
		}
	}
}

// fill starts operations until the window is full or the run is at its end.
func (d *driver) fill(end uint64) error {
	for {
		if d.held < 0 && len(d.halves)+len(d.owed) == 0 && d.replay == nil {
			return d.fillNew(end)
		}
		i := d.next(d.sent < end)
		if i < 0 {
			return nil
		}
		if err := d.start(i); err != nil {
			if d.held = i; errors.Is(err, errFull) {
				return nil
			}
			return err
		}
	}
}

// fillNew is fill where only new operations of the stream are to be started. Next, start and
// send would do the same: here they are one, because every operation pays for it.
func (d *driver) fillNew(end uint64) error {
	for d.sent < end && len(d.free) != 0 {
		last := len(d.free) - 1
		i := d.free[last]
		d.free = d.free[:last]
		s := &d.slots[i]
		s.index, s.op, s.stamp = d.stream.Next()
		s.get, s.tick = s.op.Reads(), 0
		if d.sent == d.timed {
			s.tick = cycles.Now()
		}
		var err error
		if key := d.keys.Fill(d.key, s.index); s.get {
			err = d.lane.get(i, key)
		} else {
			err = d.lane.put(i, key, d.values.Fill(d.value, s.index, s.stamp))
		}
		if err != nil {
			if d.held = i; errors.Is(err, errFull) {
				return nil
			}
			return err
		}
		if d.sent++; s.tick != 0 {
			d.timed += d.meter.Gap()
		}
	}
	return nil
}

// next puts the next operation into a slot: what found no room before, then second halves,
// and where another may begin what a miss has left to be put, or a new one. It is negative
// if there is nothing to start.
func (d *driver) next(another bool) int {
	if i := d.held; i >= 0 {
		if !another && !d.slots[i].second() {
			return -1
		}
		d.held = -1
		return i
	}
	if last := len(d.halves) - 1; last >= 0 {
		i := d.halves[last]
		d.halves = d.halves[:last]
		return i
	}
	if !another {
		return -1
	}
	if last := len(d.owed) - 1; last >= 0 {
		i := d.owed[last]
		d.owed = d.owed[:last]
		d.slots[i].op, d.slots[i].get = load.Put, false
		return i
	}
	last := len(d.free) - 1
	if last < 0 {
		return -1
	}
	i := d.free[last]
	s := &d.slots[i]
	if d.replay == nil {
		s.index, s.op, s.stamp = d.stream.Next()
		s.get = s.op.Reads()
	} else if !d.replay.next(i, s) {
		return -1
	}
	d.free = d.free[:last]
	return i
}

// start starts the operation of a slot, or its second half.
func (d *driver) start(i int) error {
	s := &d.slots[i]
	if d.sent != d.timed && !s.second() {
		s.tick = 0
		if err := d.send(i, s); err != nil {
			return err
		}
		d.sent++
		return nil
	}
	if s.second() {
		return d.send(i, s)
	}
	err := d.startAt(i, cycles.Now())
	if err == nil {
		d.timed += d.meter.Gap()
	}
	return err
}

// startAt starts the operation of a slot, whose latency counts from a tick on; 0: not at
// all. That of a second half counts from the first.
func (d *driver) startAt(i int, tick uint64) error {
	s := &d.slots[i]
	if s.second() {
		return d.send(i, s)
	}
	s.tick = tick
	if err := d.send(i, s); err != nil {
		return err
	}
	d.sent++
	return nil
}

// send sends the get or the put of a slot.
func (d *driver) send(i int, s *slot) error {
	if d.replay != nil {
		return d.resend(i, s)
	}
	key := d.keys.Fill(d.key, s.index)
	if s.get {
		return d.lane.get(i, key)
	}
	return d.lane.put(i, key, d.values.Fill(d.value, s.index, s.stamp))
}

// take takes the result of the operation of a slot (C5): the value of a get, or
// errMiss, or what the server says.
func (d *driver) take(i int, value []byte, err error) error {
	s, m := &d.slots[i], d.meter
	if s.op > load.Put && d.half(i, s, value, &err) {
		return err
	}
	if s.tick != 0 {
		m.Took(s.tick, d.flight)
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
		m.Refused(kindOf(err), err)
	} else if m.Misses++; d.fills && s.get {
		d.owed = append(d.owed, i)
		return nil
	}
	d.free = append(d.free, i)
	return nil
}

// half takes a result that is not the end of its operation, and then reports true, with the
// error that ends the run: that of the get of a read-modify-write, which its put follows
// whether or not there was a value. It settles inserts and deletes besides.
func (d *driver) half(i int, s *slot, value []byte, err *error) bool {
	switch {
	case s.op == load.Insert:
		d.stream.Settle(s.index)
	case s.op == load.Delete && errors.Is(*err, errMiss):
		*err = nil // it is gone, as it should be
	case s.op == load.Modify && s.get && (*err == nil || errors.Is(*err, errMiss)):
		d.meter.Gets++
		if *err == nil {
			*err = d.values.Check(value, s.index)
		} else {
			d.meter.Misses++
			*err = nil
		}
		s.get = false
		d.halves = append(d.halves, i)
		return true
	}
	return false
}

// idle reports whether nothing is on its way.
func (d *driver) idle() bool { return d.sent == d.meter.Ops }
