package faults

import (
	"math"

	"github.com/remora-kv/remora/fabric"
)

// copyTag marks the ID of a copy in the inner queue pair; the rest is its
// slot.
const copyTag = 1 << 63

// maxCopies is how many messages of a queue pair can be held.
const maxCopies = 128

// How many times as large inner queues are that need room for copies, and for runs of lines.
const (
	roomToHold    = 3
	roomToScatter = 2 + maxRuns
)

// noTurn is the operation after which a message goes that only waits for its time.
const noTurn = math.MaxUint64

// held is a copy of a message. It is sent when due has come or when the queue
// pair has gone past operation after, whichever is first.
type held struct {
	wr    fabric.WR
	to    *handle
	due   int64
	after uint64

	// Of one that is scattered (scatter.go): the operation, which is not complete before,
	// and the rule.
	scattered bool
	seq       uint64
	replays   bool
}

// copies are the held messages of a queue pair. A slot is taken until the inner
// queue pair, which has room for all of them, has sent its message.
type copies struct {
	q          *queuePair
	region     *fabric.Region // MTU bytes for each slot
	slots      []held
	free, held []int  // held is in the order of the posts
	turn       uint64 // the first of after
	scattered  int    // of those in held
}

func (c *copies) init(q *queuePair, n int) (err error) {
	c.q, c.turn = q, noTurn
	if n == 0 {
		return nil
	}
	if c.region, err = q.domain.Domain.Alloc("faults", n*q.dev.limits.MTU, 0); err != nil {
		return err
	}
	c.slots, c.free, c.held = make([]held, n), make([]int, 0, n), make([]int, 0, n)
	for i := range n {
		c.free = append(c.free, i)
	}
	return nil
}

func (c *copies) close() error {
	if c.region == nil {
		return nil
	}
	return c.region.Close()
}

// blocks reports whether the next message waits behind a delayed one (G1). One
// that lets others overtake it does not block, and is never behind one that does.
func (c *copies) blocks() bool {
	if len(c.held) == 0 || c.q.Transport() != fabric.UC {
		return false
	}
	last := &c.slots[c.held[len(c.held)-1]]
	return last.after == noTurn && !last.scattered
}

// hold copies a message that rule r strikes; r is nil for one that waits behind
// others. It returns false when there is no room.
func (c *copies) hold(w *fabric.WR, r *rule, seq uint64) bool {
	if len(c.free) == 0 || w.Bytes() > c.q.dev.limits.MTU {
		return false
	}
	i := c.free[len(c.free)-1]
	s := &c.slots[i]
	*s = held{wr: *w, due: c.q.dev.clock.Now(), after: noTurn}
	if r != nil {
		s.due += int64(r.time)
	}
	if c.blocks() {
		s.due = max(s.due, c.slots[c.held[len(c.held)-1]].due)
	} else if r.fault == Reorder {
		s.after = seq + uint64(r.by)
	}
	if h, ok := w.To.(*handle); ok {
		s.to, s.wr.To = h, h.AddressHandle
	}
	c.copyInto(i, w)
	c.enter(i, w)
	return true
}

// copyInto makes the request in slot i read a copy of the data of w.
func (c *copies) copyInto(i int, w *fabric.WR) {
	s, at := &c.slots[i], i*c.q.dev.limits.MTU
	n := copy(c.region.Bytes()[at:], w.Local.Bytes())
	for k := range w.More {
		n += copy(c.region.Bytes()[at+n:], w.More[k].Bytes())
	}
	s.wr.Local, s.wr.More = c.region.Seg(at, n), nil
}

// enter makes slot i, the last of the free ones, the youngest that is held.
func (c *copies) enter(i int, w *fabric.WR) {
	s := &c.slots[i]
	s.wr.ID, s.wr.Flags = copyTag|uint64(i), w.Flags&fabric.FlagSolicited|fabric.FlagSignaled
	c.free, c.held = c.free[:len(c.free)-1], append(c.held, i)
	c.turn = min(c.turn, s.after)
	c.q.send.hold(c.q)
	c.q.recv.hold(c.q)
}

// release sends what may go, the oldest first. When the queue pair has broken all
// goes, and is flushed.
func (c *copies) release(now int64) {
	if c.q.QP.State() != fabric.StateReady {
		now = never
	}
	c.turn, c.scattered = noTurn, 0
	keep := c.held[:0]
	for _, i := range c.held {
		switch s := &c.slots[i]; {
		case s.due > now && s.after >= c.q.tail:
			keep = append(keep, i)
			c.turn = min(c.turn, s.after)
			if s.scattered {
				c.scattered++
			}
		case c.q.dev.cut.Load(), s.to != nil && s.to.closed:
			c.drop(i, c.statusOfCut())
		case s.scattered && s.wr.Op == fabric.OpRead:
			c.readAgain(i)
		default:
			c.post(&s.wr, i)
		}
	}
	c.held = keep
}

// post sends the last request that slot i is for.
func (c *copies) post(w *fabric.WR, i int) {
	c.q.one[0] = *w
	if n, _ := c.q.QP.Post(c.q.one[:]); n == 0 {
		c.drop(i, fabric.StatusFlushed)
	}
}

// statusOfCut is how a request ends that the cut link has lost: UC does not notice.
func (c *copies) statusOfCut() fabric.Status {
	if c.q.Transport() == fabric.RC {
		return fabric.StatusFlushed
	}
	return fabric.StatusOK
}

// drop empties the slot of a message that was sent, or is lost.
func (c *copies) drop(i int, status fabric.Status) {
	if s := &c.slots[i]; s.scattered {
		c.q.ended(s.seq, status)
	}
	c.slots[i] = held{}
	c.free = append(c.free, i)
}
