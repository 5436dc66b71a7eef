package rfp

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/wire"
)

// flush ends the frame being filled and gives it to the client, now or when
// there is room. A session whose ring is full is slow until the client has taken
// something: the mark that it is parked could not reach it.
func (c *core) flush(s *session, class uint8, last bool) {
	payload := c.out[:c.fill]
	c.fill = 0
	var f waitingFrame // field by field: a literal would be made elsewhere and copied
	f.payload, f.last, f.push, f.class = payload, last, c.pushAll, class
	f.start, f.bulkEnd = c.start, s.out.head
	switch kept := len(s.backlog); {
	case s.gone:
		return
	case kept != 0 && s.backlog[kept-1].rest != nil && len(payload) == 0:
		s.backlog[kept-1].last = last // its last piece ends the answer
		return
	case len(s.backlog) == 0 && s.room():
		if c.place(s, &f); !s.room() && !s.gone {
			c.slow.Add(s, &s.slowAt)
		}
		return
	}
	f.payload = append([]byte(nil), payload...)
	s.backlog = append(s.backlog, f)
	s.waiting += len(payload)
	c.slow.Add(s, &s.slowAt)
}

// place puts a result frame into its slot, and pushes it where the client wants
// that (I3).
func (c *core) place(s *session, f *waitingFrame) {
	payload := f.payload
	n, at := s.produced+1, s.answerAt
	s.ends[s.answerSlot] = f.bulkEnd
	slot := s.answerMem[at : at+s.answerStride]
	var nanos int64
	if f.start != 0 {
		nanos = max(c.Clock.Now()-f.start, 1)
	}
	push := s.mode(f.class)
	if push == Fetch && f.push {
		push = Reply
	}
	w := wire.MakeWord0(n, len(payload), wire.ResultAux(nanos, f.last))
	fence.CopyOut(slot[wire.ResultHeader:], payload)
	if s.rings.proof {
		fence.Publish64(fence.Word(slot, wire.ResultTail(len(payload))), wire.Proof(n, w, payload))
	} else if push != Fetch {
		fence.Publish64(fence.Word(slot, wire.ResultTail(len(payload))), wire.Tail(n))
	}
	fence.Publish64(fence.Word(slot, 0), uint64(w))
	s.produced = n
	s.answerSlot++
	if s.answerAt += s.answerStride; s.answerAt == len(s.answerMem) {
		s.answerAt, s.answerSlot = 0, 0
	}
	if push != Fetch {
		c.push(s, n, at, wire.TailedBytes(len(payload)), push)
	}
}

// push writes a result frame into the client's memory.
func (c *core) push(s *session, n uint64, at, length int, mode Mode) {
	w := &c.one[0]
	*w = fabric.WR{
		ID: s.id, Op: fabric.OpWrite,
		Local: s.answers.Seg(at, length), Remote: s.replies.At(at),
	}
	if mode == ReplyWake {
		w.Op, w.Imm = fabric.OpWriteImm, uint32(n)
		w.Flags |= fabric.FlagSolicited
	}
	if length <= s.inline {
		w.Flags |= fabric.FlagInline
	}
	if s.pushed++; s.pushed%uint64(max(s.rings.results/2, 1)) == 0 {
		w.Flags |= fabric.FlagSignaled
	}
	_, err := s.qp.Post(c.one[:])
	switch {
	case err == nil:
		fence.Count(&c.stats.pushes, 1)
	case errors.Is(err, fabric.ErrQueueFull):
		// The client finds the frame by fetching (I3, I4).
		fence.Count(&c.stats.unpushed, 1)
	default:
		c.lost(s, err)
	}
}

// told looks how many results the client has taken, and reports whether that
// can be.
func (s *session) told() bool {
	return s.take(uint32(fence.Observe64(fence.Word(s.reqs.Bytes(), takenAt))))
}

// resume places frames that waited for room.
func (c *core) resume() bool {
	worked := c.completions()
	for i := len(c.slow.All) - 1; i >= 0; i-- {
		if i >= len(c.slow.All) {
			continue // others were dropped meanwhile
		}
		s := c.slow.All[i]
		if !s.told() {
			c.cut(s, "more results taken than there were")
			continue
		}
		for !s.gone && len(s.backlog) != 0 && s.room() {
			f := &s.backlog[0]
			if f.rest == nil {
				c.place(s, f)
			} else if !c.pour(s, f) {
				break
			}
			worked = true
			c.spares.giveBack(f.whole)
			s.waiting -= len(f.payload) + len(f.whole)
			s.backlog[0] = waitingFrame{}
			s.backlog = s.backlog[1:]
		}
		if s.gone || len(s.backlog) != 0 || !s.room() || s.halted && s.doubt.Waits(c.Sweep) {
			continue
		}
		s.backlog, s.waiting = nil, 0
		s.lastSeen = c.Sweep
		c.slow.Remove(&s.slowAt)
		if s.halted {
			left := len(s.unserved)
			c.proceed(s)
			worked = worked || !s.halted || len(s.unserved) < left
		}
	}
	return worked
}
