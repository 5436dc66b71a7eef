package faults

import (
	"github.com/remora-kv/remora/fabric"
)

// lineSize is what an adapter and a CPU read and write at once.
const lineSize = 64

// maxRuns is how many runs of lines of an operation have a time of their own.
const maxRuns = 4

// runTag marks, beside copyTag, the ID of a request for a run of lines.
const runTag = 1 << 62

// canScatter reports whether there is a slot, and the data of a request lie in one place
// or can be copied to one.
func (c *copies) canScatter(w *fabric.WR) bool {
	return len(c.free) != 0 && (len(w.More) == 0 || w.Op != fabric.OpRead && w.Bytes() <= c.q.dev.limits.MTU)
}

// scatter executes a READ or WRITE that rule r strikes in parts.
//
// Of a WRITE some runs of lines are placed now, and the whole later, so that a CPU sees any of
// its lines first. A WRITE behind it overtakes it, unless both write the same place; anything
// else does not (settleBefore). Of a READ the whole is read now, and some runs of lines again
// later, so that each line is of a time of its own; or all of them again, for a replay.
func (c *copies) scatter(e *entry, w *fabric.WR, r *rule, seq uint64) {
	if w.Op == fabric.OpRead {
		c.q.passOn(e, w, seq)
	}
	i := c.free[len(c.free)-1]
	s := &c.slots[i]
	late := int64(c.q.draw(seq, 0) % uint64(r.time+1))
	*s = held{
		wr: *w, due: c.q.dev.clock.Now() + late, after: noTurn,
		scattered: true, seq: seq, replays: r.fault == Replay,
	}
	if w.Op != fabric.OpRead && w.Bytes() <= c.q.dev.limits.MTU {
		c.copyInto(i, w)
	} else {
		toInner(&s.wr.Local)
	}
	c.enter(i, w)
	c.scattered++
	e.waits++
	if w.Op != fabric.OpRead {
		c.runs(s, func(run fabric.WR, _ bool) {
			run.Op, run.ID, run.Flags = fabric.OpWrite, copyTag|runTag|uint64(i), 0
			c.q.one[0] = run
			_, _ = c.q.QP.Post(c.q.one[:])
		})
	}
}

// readAgain reads runs of lines of the READ in slot i again, or all of it.
func (c *copies) readAgain(i int) {
	s := &c.slots[i]
	if s.replays {
		c.post(&s.wr, i)
		return
	}
	c.runs(s, func(run fabric.WR, last bool) {
		if last {
			c.post(&run, i)
			return
		}
		run.ID, run.Flags = copyTag|runTag|uint64(i), 0
		c.q.one[0] = run
		_, _ = c.q.QP.Post(c.q.one[:])
	})
}

// runs calls f with requests for runs of lines of the one in a slot, in any order.
func (c *copies) runs(s *held, f func(run fabric.WR, last bool)) {
	w := s.wr
	n := w.Local.Len
	lead := int(-w.Remote.Addr % lineSize) // before the first whole line
	lines := (n - min(lead, n) + lineSize - 1) / lineSize
	if lead != 0 {
		lines++
	}
	count := 1 + int(c.q.draw(s.seq, 1)%maxRuns)
	for k := range count {
		from := int(c.q.draw(s.seq, uint64(2+2*k)) % uint64(max(lines, 1)))
		length := 1 + int(c.q.draw(s.seq, uint64(3+2*k))%uint64(max(lines/2, 1)))
		at, end := lineAt(from, lead, n), lineAt(from+length, lead, n)
		run := w
		run.Local.Off, run.Local.Len = w.Local.Off+at, end-at
		run.Remote = w.Remote.At(at)
		f(run, k == count-1)
	}
}

// lineAt is where line i begins in n bytes, of which the first lead are the end of a line.
func lineAt(i, lead, n int) int {
	switch {
	case i == 0:
		return 0
	case lead == 0:
		return min(i*lineSize, n)
	}
	return min(lead+(i-1)*lineSize, n)
}

// runFailed takes note of the end of a run, which only a failure reports.
func (c *copies) runFailed(i int, status fabric.Status) {
	if s := &c.slots[i]; s.scattered {
		c.q.entry(s.seq).fails(status)
	}
}

// settleBefore places what is held of WRITEs, if request w must not overtake it.
func (c *copies) settleBefore(w *fabric.WR) {
	settled := false
	for _, i := range c.held {
		s := &c.slots[i]
		if s.scattered && s.wr.Op != fabric.OpRead && (w.Op != fabric.OpWrite || overlap(w, &s.wr)) {
			s.due, settled = 0, true
		}
	}
	if settled {
		c.release(c.q.dev.clock.Now())
	}
}

// overlap reports whether two WRITEs have a place in common.
func overlap(a, b *fabric.WR) bool {
	from, to := a.Remote.Addr, b.Remote.Addr
	return a.Remote.Key == b.Remote.Key && from < to+uint64(b.Bytes()) && to < from+uint64(a.Bytes())
}
