package faults

import "github.com/remora-kv/remora/fabric"

// copyTag marks the ID of a copy in the inner queue pair; the rest is its
// slot.
const copyTag = 1 << 63

// maxCopies is how many datagrams of a queue pair can be held.
const maxCopies = 128

// held is a message that waits in the wrapper.
type held struct {
	wr  fabric.WR
	seq uint64
	to  *handle
	// It is sent when due has come or when the queue pair has gone past
	// operation after, whichever is first.
	due   int64
	after uint64
}

// copies are the held messages of a queue pair.
//
// A datagram is copied and completes at once, as on hardware; its copy needs a
// place of its own in the inner queue pair. A UC message can be of any length,
// so it stays in the memory of the program, except inline data, and its
// completion waits.
type copies struct {
	q      *queuePair
	uc     bool
	region *fabric.Region
	size   int // bytes of the region for each slot
	segs   []fabric.Seg
	slots  []held
	free   []int
	held   []int // in the order of their posts
	// flying copies have been given to the inner queue pair, which has room
	// for that many.
	flying, room int
	full         bool // something is due and there is no room
	// lastDue is when the last of the delayed UC messages is sent. What follows
	// them stays behind them (G1).
	lastDue int64
}

func newCopies(q *queuePair, t fabric.Transport) (*copies, error) {
	c := &copies{q: q, size: q.dev.limits.MTU, uc: t == fabric.UC}
	n := maxCopies
	if c.uc {
		n, c.size = len(q.ring), max(q.dev.limits.MaxInline, 1)
		c.segs = make([]fabric.Seg, n*q.perWR)
	}
	var err error
	if c.region, err = q.domain.Domain.Alloc("faults", n*c.size, 0); err != nil {
		return nil, err
	}
	c.slots, c.free, c.held = make([]held, n), make([]int, 0, n), make([]int, 0, n)
	for i := n - 1; i >= 0; i-- {
		c.free = append(c.free, i)
	}
	return c, nil
}

// close gives up what is held.
func (c *copies) close() error {
	for _, i := range c.held {
		c.q.countLost(c.slots[i].wr.Op, c.slots[i].wr.Bytes())
	}
	for i := range c.slots {
		c.slots[i].to.release()
		c.slots[i].to = nil
	}
	return c.region.Close()
}

// blocks reports whether the next message waits behind a delayed one. One that
// lets others overtake it does not block, and is never behind one that does.
func (c *copies) blocks() bool {
	return c != nil && c.uc && len(c.held) > 0 && c.slots[c.held[len(c.held)-1]].after == noTurn
}

// strike does what a rule that holds messages says to one that has entered; r
// is nil for one that waits behind others.
func (c *copies) strike(w *fabric.WR, r *rule, seq uint64, e *entry) {
	due, after := c.lastDue, uint64(noTurn)
	switch {
	case c.blocks():
		if r != nil && r.fault == Delay {
			due = max(due, c.q.dev.clock.Now()+int64(r.time))
		}
	case r.fault == Reorder:
		due, after = c.q.dev.clock.Now()+int64(r.time), seq+uint64(r.by)
	default:
		due = c.q.dev.clock.Now() + int64(r.time)
	}
	dup := r != nil && r.fault == Dup
	if dup {
		c.q.pass(w, seq, e)
		if r.time == 0 {
			after = seq
		}
	}
	switch {
	case c.keep(w, seq, e, due, after):
		if dup {
			c.q.countCopy(w.Op, int(e.bytes))
		}
	case !dup: // it goes out as if it had not been struck
		c.q.pass(w, seq, e)
	}
}

// keep holds a message. It returns false when there is no slot for it, which
// happens to datagrams only.
func (c *copies) keep(w *fabric.WR, seq uint64, e *entry, due int64, after uint64) bool {
	if len(c.free) == 0 || (!c.uc && c.room < 1) {
		return false
	}
	i := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	s := &c.slots[i]
	*s = held{seq: seq, due: due, after: after, wr: *w}
	if c.uc {
		e.waits = true
		if after == noTurn {
			c.lastDue = due
		}
		inside(&s.wr, seq, c.segs[i*c.q.perWR:(i+1)*c.q.perWR])
	} else {
		s.wr.ID, s.wr.Flags = copyTag|uint64(i), w.Flags&fabric.FlagSolicited|fabric.FlagSignaled
		if s.wr.To, s.to = destination(w.To); s.to != nil {
			s.to.held++
		}
	}
	switch {
	case e.bytes == 0:
		s.wr.Local, s.wr.More = fabric.Seg{}, nil
	case !c.uc || w.Flags&fabric.FlagInline != 0:
		mem := c.region.Bytes()[i*c.size : (i+1)*c.size]
		n := copy(mem, w.Local.Bytes())
		for k := range w.More {
			n += copy(mem[n:], w.More[k].Bytes())
		}
		s.wr.Local, s.wr.More = c.region.Seg(i*c.size, n), nil
	}
	c.held = append(c.held, i)
	c.q.turn = min(c.q.turn, after)
	c.q.hold()
	return true
}

// release sends what may go, the oldest first. When the queue pair has broken
// all UC messages go: the inner one flushes them, and nobody waits for them.
func (c *copies) release(now int64) {
	if c.uc && c.q.QP.State() != fabric.StateReady {
		now = never
	}
	c.q.turn, c.full = noTurn, false
	keep := c.held[:0]
	for _, i := range c.held {
		s := &c.slots[i]
		switch {
		case s.due > now && s.after >= c.q.tail:
			keep = append(keep, i)
			c.q.turn = min(c.q.turn, s.after)
		case !c.uc && c.flying == c.room:
			keep = append(keep, i)
			c.full = true
		default:
			c.launch(i)
		}
	}
	c.held = keep
}

// launch sends a message, unless the link is cut meanwhile.
func (c *copies) launch(i int) {
	s := &c.slots[i]
	posted := false
	if !c.q.dev.cut.Load() {
		c.q.one[0] = s.wr
		n, _ := c.q.QP.Post(c.q.one[:])
		posted = n == 1
	}
	if !posted {
		c.q.countLost(s.wr.Op, s.wr.Bytes())
	}
	switch {
	case c.uc:
		c.q.entry(s.seq).waits = posted
		c.drop(i)
	case posted:
		c.flying++
	default:
		c.drop(i)
	}
}

// done takes back the slot of a copy that the inner queue pair has sent.
func (c *copies) done(i int) {
	c.flying--
	c.drop(i)
	if c.full {
		c.release(c.q.dev.clock.Now())
	}
}

func (c *copies) drop(i int) {
	c.slots[i].to.release()
	c.slots[i] = held{}
	c.free = append(c.free, i)
}

// next returns when the first held message is due, after now. Those that wait
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
