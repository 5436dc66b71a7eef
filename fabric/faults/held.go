package faults

import "github.com/remora-kv/remora/fabric"

// copyTag marks the ID of a copy in the inner queue pair; the rest is its
// slot.
const copyTag = 1 << 63

// maxCopies is how many datagrams of a queue pair can be held.
const maxCopies = 128

// held is a datagram in memory of the wrapper.
type held struct {
	wr fabric.WR
	to *handle
	// It is sent when due has come or when the queue pair has gone past
	// operation after, whichever is first.
	due   int64
	after uint64
}

// copies are the held datagrams of a queue pair.
type copies struct {
	q      *queuePair
	region *fabric.Region
	size   int
	slots  []held
	free   []int
	held   []int // in the order of their posts
	// flying copies have been given to the inner queue pair, which has room
	// for so many of them.
	flying, room int
	blocked      bool // something is due and there is no room
}

func newCopies(q *queuePair) (*copies, error) {
	c := &copies{q: q, size: q.dev.limits.MTU, slots: make([]held, maxCopies)}
	var err error
	if c.region, err = q.domain.Domain.Alloc("faults", maxCopies*c.size, 0); err != nil {
		return nil, err
	}
	c.free = make([]int, 0, maxCopies)
	c.held = make([]int, 0, maxCopies)
	for i := maxCopies - 1; i >= 0; i-- {
		c.free = append(c.free, i)
	}
	return c, nil
}

// close gives up what is held.
func (c *copies) close() error {
	for _, i := range c.held {
		c.q.countLost(c.slots[i].wr.Op, c.slots[i].wr.Local.Len)
	}
	for i := range c.slots {
		c.slots[i].to.release()
		c.slots[i].to = nil
	}
	return c.region.Close()
}

// strike does what a rule that holds datagrams says to one that has entered.
func (c *copies) strike(w *fabric.WR, r *rule, seq uint64, e *entry) {
	due := c.q.dev.clock.Now() + int64(r.Time)
	after := uint64(noTurn)
	if r.Fault == Reorder {
		after = seq + uint64(r.By)
	}
	if r.Fault == Dup {
		c.q.pass(w, seq, e)
		if r.Time == 0 {
			after = seq
		}
	}
	switch {
	case c.keep(w, due, after):
		if r.Fault == Dup {
			c.q.countCopy(w.Op, int(e.bytes))
		}
	case r.Fault == Dup:
		c.q.dev.stats.rushed.Add(1)
	default:
		c.q.pass(w, seq, e)
		c.q.dev.stats.rushed.Add(1)
	}
}

// keep copies a datagram. It returns false when there is no slot for it.
func (c *copies) keep(w *fabric.WR, due int64, after uint64) bool {
	if len(c.free) == 0 || c.room < 1 {
		return false
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	mem := c.region.Bytes()[i*c.size : (i+1)*c.size]
	n := copy(mem, w.Local.Bytes())
	for k := range w.More {
		n += copy(mem[n:], w.More[k].Bytes())
	}
	s := &c.slots[i]
	*s = held{due: due, after: after, wr: fabric.WR{
		ID: copyTag | uint64(i), Local: c.region.Seg(i*c.size, n), Op: w.Op, Imm: w.Imm,
		Flags: w.Flags&fabric.FlagSolicited | fabric.FlagSignaled,
	}}
	s.wr.To, s.to = destination(w.To)
	if s.to != nil {
		s.to.held++
	}
	c.held = append(c.held, i)
	c.q.turn = min(c.q.turn, after)
	c.q.hold()
	return true
}

// release sends what may go, the oldest first.
func (c *copies) release(now int64) {
	c.q.turn, c.blocked = noTurn, false
	keep := c.held[:0]
	for _, i := range c.held {
		s := &c.slots[i]
		switch {
		case s.due > now && s.after >= c.q.tail:
			keep = append(keep, i)
			c.q.turn = min(c.q.turn, s.after)
		case c.flying == c.room:
			keep = append(keep, i)
			c.blocked = true
		default:
			c.launch(i)
		}
	}
	c.held = keep
}

// launch sends a copy, unless the link is cut meanwhile.
func (c *copies) launch(i int) {
	s := &c.slots[i]
	if !c.q.dev.cut.Load() {
		c.q.one[0] = s.wr
		if n, _ := c.q.QP.Post(c.q.one[:]); n == 1 {
			c.flying++
			return
		}
	}
	c.q.countLost(s.wr.Op, s.wr.Local.Len)
	c.drop(i)
}

// done takes back the slot of a copy that the inner queue pair has sent.
func (c *copies) done(i int) {
	c.flying--
	c.drop(i)
}

func (c *copies) drop(i int) {
	c.slots[i].to.release()
	c.slots[i] = held{}
	c.free = append(c.free, i)
}

// next returns when the first held datagram is due, after now. Those that wait
// for room are sent by the completion that makes it.
func (c *copies) next(now int64) int64 {
	at := int64(never)
	for _, i := range c.held {
		if due := c.slots[i].due; due > now {
			at = min(at, due)
		}
	}
	return at
}
