package direct

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/fence"
)

// recvQueue is the receive queue: numbers of receives ever posted, taken by
// messages, and freed by polling.
type recvQueue struct {
	slots                              []base.Recv
	recvDepth                          uint64
	recvPosted, recvTaken, recvRetired uint64
}

func (r *recvQueue) init(depth int) {
	r.recvDepth = uint64(depth)
	r.slots = make([]base.Recv, base.CeilPow2(depth))
}

func (r *recvQueue) slot(i uint64) *base.Recv { return &r.slots[i&uint64(len(r.slots)-1)] }

// PostRecv implements fabric.QP.
func (q *QP) PostRecv(wrs []fabric.RecvWR) (int, error) {
	if q.State() != fabric.StateReady {
		if q.State() == fabric.StateClosed {
			return 0, fmt.Errorf("fabric: queue pair %d: %w", q.num, fabric.ErrClosed)
		}
		q.settle()
	}
	n, err := q.appendRecvs(wrs)
	if !q.in.listed && q.transport != fabric.UD {
		q.recv.listen(&q.in)
	}
	if q.settled {
		q.flushReceives()
	} else if n > 0 && q.transport != fabric.UD {
		q.in.postedCount(q.recvPosted)
	}
	return n, err
}

func (q *QP) appendRecvs(wrs []fabric.RecvWR) (int, error) {
	for i := range wrs {
		w := &wrs[i]
		if q.recvPosted-q.recvRetired >= q.recvDepth {
			return i, fabric.ErrQueueFull
		}
		if err := fabric.ValidateRecv(w, q.domain, &q.limits); err != nil {
			return i, &fabric.PostError{Index: i, Err: err}
		}
		s := q.slot(q.recvPosted)
		s.Set(w)
		if q.transport != fabric.UD {
			q.in.lens[q.recvPosted&uint64(len(q.in.lens)-1)].Store(uint32(min(s.Size, 1<<31)))
		}
		q.recvPosted++
	}
	return len(wrs), nil
}

// flushReceives completes every posted receive as flushed.
func (q *QP) flushReceives() {
	for q.recvTaken != q.recvPosted {
		q.complete(fabric.StatusFlushed, 0)
	}
}

// complete ends the oldest posted receive.
func (q *QP) complete(st fabric.Status, n int) *done {
	s := q.slot(q.recvTaken)
	q.recvTaken++
	return q.recv.push(q, q.recvTaken, s.ID, fabric.OpRecv, st, n)
}

// source is a ring that messages for a queue pair come from.
type source struct {
	consumer
	qp     *QP
	listed bool
	// dead is set by what broke the queue pair: nothing behind it is taken.
	dead bool
}

// ready reports whether draining may find something.
func (s *source) ready() bool {
	if s.qp.transport != fabric.UD && s.qp.recvTaken == s.qp.recvPosted {
		return false // I2
	}
	return s.h.tail.Load() != s.head
}

// drain takes all messages that are there.
func (s *source) drain() {
	if s.dead {
		return
	}
	avail, ok := s.available()
	if !ok {
		s.violated("the peer's ring counter is impossible")
		return
	}
	if avail == 0 {
		return
	}
	var e entry
	for avail != 0 {
		first, second, ok := s.next(&e, avail)
		if !ok {
			s.violated("an entry in the peer's ring is longer than the ring says")
			return
		}
		// The entry is behind us before it is acted upon: breaking the queue
		// pair drains what follows it. Its bytes stay ours until release.
		s.consume(&e)
		avail -= entrySize + padded(int(e.frag))
		if !s.take(&e, first, second) {
			return
		}
	}
	s.release()
}

// take handles one entry; false when the queue pair broke.
func (s *source) take(e *entry, first, second []byte) bool {
	if s.qp.transport == fabric.UD {
		return s.takeGram(e, first, second)
	}
	q := s.qp
	if s.inMessage != (e.kind == kindMore) || q.recvTaken == q.recvPosted {
		s.violated("a message in the peer's ring is out of order")
		return false
	}
	slot := q.slot(q.recvTaken)
	switch e.kind {
	case kindImm:
		if e.frag != 0 || int64(e.total) > int64(q.limits.MaxMessage) {
			break
		}
		c := q.complete(fabric.StatusOK, int(e.total))
		c.bytesImm |= uint64(e.imm) << 32
		c.kind |= 1 << 16
		return true
	case kindLarge:
		s.dead = true
		q.breakNow(q.complete(fabric.StatusLocalLength, 0))
		return false
	case kindSend, kindMore:
		return s.takePart(e, slot, first, second)
	}
	s.violated("an entry in the peer's ring has an unknown kind")
	return false
}

// takePart copies one part of a SEND into its receive.
func (s *source) takePart(e *entry, slot *base.Recv, first, second []byte) bool {
	q := s.qp
	if e.kind == kindSend {
		if int64(e.total) > int64(slot.Size) {
			s.dead = true
			q.breakNow(q.complete(fabric.StatusLocalLength, 0))
			return false
		}
		s.got, s.total, s.inMessage = 0, e.total, true
	}
	if e.frag > s.total-s.got || (e.frag == 0 && s.total != s.got) {
		s.violated("a part of a message in the peer's ring is longer than the message")
		return false
	}
	slot.Scatter(int(s.got), first)
	slot.Scatter(int(s.got)+len(first), second)
	if s.got += e.frag; s.got == s.total {
		s.inMessage = false
		q.received(int(s.total))
		q.complete(fabric.StatusOK, int(s.total))
	}
	return true
}

func (q *QP) received(n int) {
	fence.Count(&q.stats.recvs, 1)
	fence.Count(&q.stats.recvBytes, uint64(n))
}
