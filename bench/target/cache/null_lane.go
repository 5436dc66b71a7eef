package cache

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/arena"
)

// nullLane leads to the null server (C14): operations are put into frames in memory that
// could be shared, and are answered from there at once, by the same thread.
//
//	| entry | entry | ...          a frame: batch entries at most, window frames in a ring
//
//	0      4      8
//	+------+------+-----+-------+
//	| slot | size | key | value |     an entry and its size, up to 8; the value is of a put
//	+------+------+-----+-------+
type nullLane struct {
	memory *arena.Block
	ring   []byte // the frames
	size   int    // of one
	frames int
	batch  int
	first  int // the frame that is answered next
	used   int // frames with operations
	left   int // how many more the last of them takes
	at     int // where the next entry begins
	answer []byte
}

// nullHeader is what stands before the key of an entry.
const nullHeader = 8

func roundUp(n int) int { return (n + 7) &^ 7 }

// newNullLane makes the lane of a case.
func newNullLane(c *Case) (*nullLane, error) {
	value := c.longestValue()
	if value > framePayload {
		value = 0 // it is not moved: on other paths a frame does not hold it either
		if c.ValueDist != "" {
			value = framePayload // shorter ones are
		}
	}
	entry := roundUp(nullHeader + c.longestKey() + value)
	memory, err := arena.New().AllocShared("null server", entry*c.most(), arena.ReadWriteForOthers)
	if err != nil {
		return nil, fmt.Errorf("frames of the null server: %w", err)
	}
	l := &nullLane{memory: memory, ring: memory.Bytes(), size: entry * c.Batch, frames: c.Window, batch: c.Batch}
	values := load.ValuesOf(c.valueSizes())
	l.answer = values.Buffer()
	return l, nil
}

func (l *nullLane) get(slot int, key []byte) error {
	b := l.entry(slot, roundUp(nullHeader+len(key)))
	if b == nil {
		return errFull
	}
	copy(b[nullHeader:], key)
	return nil
}

func (l *nullLane) put(slot int, key, value []byte) error {
	if len(value) > framePayload {
		value = nil
	}
	b := l.entry(slot, roundUp(nullHeader+len(key)+len(value)))
	if b == nil {
		return errFull
	}
	copy(b[nullHeader:], key)
	copy(b[nullHeader+len(key):], value)
	return nil
}

// entry puts an entry of so many bytes into the open frame, except for its key and value;
// nil: all frames are in flight.
func (l *nullLane) entry(slot, size int) []byte {
	if l.left == 0 && !l.open() {
		return nil
	}
	b := l.ring[l.at : l.at+size]
	l.at += size
	l.left--
	binary.LittleEndian.PutUint64(b, uint64(slot)|uint64(size)<<32)
	return b
}

// open takes the next frame; false: all are in flight.
func (l *nullLane) open() bool {
	if l.used == l.frames {
		return false
	}
	l.at = (l.first + l.used) % l.frames * l.size
	l.used++
	l.left = l.batch
	return true
}

func (l *nullLane) drain(_ context.Context, d *driver) error { return l.poll(d) }

// poll gives the answers to the oldest frame, which is sent if it is not full.
func (l *nullLane) poll(d *driver) error {
	if l.used == 0 {
		return nil
	}
	n := l.batch
	if l.used == 1 {
		n -= l.left
		l.left = 0
	}
	frame := l.ring[l.first*l.size:][:l.size]
	l.used--
	if l.first++; l.first == l.frames {
		l.first = 0
	}
	return l.serve(d, frame, n)
}

// serve is the null server: it reads the frame and answers. What a get is to find it knows
// from the driver, so that there is neither a lookup nor a store.
func (l *nullLane) serve(d *driver, frame []byte, n int) error {
	for range n {
		head := binary.LittleEndian.Uint64(frame)
		slot := int(uint32(head))
		frame = frame[head>>32:]
		s := &d.slots[slot]
		answer := []byte(nil)
		if s.get {
			answer = d.values.Fill(l.answer, s.index, s.stamp)
		}
		if err := d.take(slot, answer, nil); err != nil {
			return err
		}
	}
	return nil
}
