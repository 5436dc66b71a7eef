package tcp

import (
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// takeCredit learns how many receives the peer has posted so far.
func (q *conn) takeCredit(credit uint32) error {
	if before(credit, q.credit) || credit-q.spent > maxCredit {
		return violation("%d receives posted, %d were said before and %d used", credit, q.credit, q.spent)
	}
	q.credit = credit
	if q.starving != starvingNot && credit != q.spent {
		q.starving = starvingNot
		q.rnrEnd.Store(0)
	}
	return nil
}

// maxCredit is more receives than a queue pair can have.
const maxCredit = 1 << 24

// awaited returns the request that the next response is for, or nil.
func (q *conn) awaited() *sendSlot {
	if before(q.answered, q.sendDone) {
		q.answered = q.sendDone
	}
	end := q.sendNext
	if q.begun {
		end++
	}
	for before(q.answered, end) {
		if s := q.send(q.answered); responds(s.op) {
			return s
		}
		q.answered++
	}
	return nil
}

// responds reports whether an operation brings data back.
func responds(op fabric.Op) bool { return op == fabric.OpRead || op.Atomic() }

// readData handles the header of a READ_DATA: it must be what was asked for.
func (q *conn) readData(f *frame) error {
	s := q.awaited()
	if s == nil || s.op != fabric.OpRead || f.seq != s.first+q.parts || before(q.seq, f.seq) ||
		f.length != cut(s.remote.Addr+uint64(q.got), s.bytes-q.got) {
		return violation("READ_DATA %d of %d bytes was not asked for", f.seq, f.length)
	}
	q.left, q.leftKind = f.length, kindReadData
	q.leftSeq, q.leftSize = f.seq, f.length
	if err := q.takeCredit(f.arg); err != nil || f.length != 0 {
		return err
	}
	return q.readDataEnd()
}

// placeReadData copies a piece of the response to its place in the memory of the READ.
func (q *conn) placeReadData(b []byte) {
	s := q.send(q.answered)
	base.Scatter(&s.local, s.more, int(q.got), b)
	q.got += uint32(len(b))
}

// readDataEnd is called when a READ_DATA is complete.
func (q *conn) readDataEnd() error {
	q.asked -= headSize + q.leftSize
	q.parts++
	if q.got == q.send(q.answered).bytes {
		q.answered++
		q.got, q.parts = 0, 0
	}
	return q.ack(q.leftSeq)
}

// atomicData handles an ATOMIC_DATA.
func (q *conn) atomicData(f *frame) error {
	s := q.awaited()
	if s == nil || !s.op.Atomic() || f.seq != s.first {
		return violation("ATOMIC_DATA %d was not asked for", f.seq)
	}
	if err := q.takeCredit(f.arg); err != nil {
		return err
	}
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], f.operand)
	base.Scatter(&s.local, nil, 0, word[:])
	q.asked -= atomicDataSize
	q.answered++
	return q.ack(f.seq)
}

// ackFrame handles an ACK.
func (q *conn) ackFrame(f *frame) error {
	if err := q.takeCredit(f.arg); err != nil {
		return err
	}
	if err := q.ack(f.seq); err != nil {
		return err
	}
	// An answer that is older than the last request says nothing about it.
	if f.flags&flagAnswer != 0 && q.starving == starvingAsked && f.seq == q.seq {
		q.starvingStill()
	}
	return nil
}

// ack completes the requests up to sequence number seq.
func (q *conn) ack(seq uint32) error {
	if before(seq, q.acked) || before(q.seq, seq) {
		return violation("acknowledgement of request %d, %d were sent and %d acknowledged", seq, q.seq, q.acked)
	}
	q.acked = seq
	for q.sendDone != q.sendNext {
		s := q.send(q.sendDone)
		if before(seq, s.last) {
			return nil
		}
		if responds(s.op) && !before(q.sendDone, q.answered) {
			return violation("%v was acknowledged without its data", s.op)
		}
		q.completeSend(fabric.StatusOK)
	}
	return nil
}

// nakFrame handles a NAK: the peer refused a request and is gone.
func (q *conn) nakFrame(f *frame) error {
	st := fabric.Status(f.arg)
	if st == fabric.StatusProtocol {
		q.finish(ending{
			err:  violation("the peer says that this side broke the protocol"),
			send: fabric.StatusProtocol,
		})
		return nil
	}
	if st != fabric.StatusRemoteAccess && st != fabric.StatusRemoteInvalid || q.transport == fabric.UC {
		return violation("NAK with status %d", f.arg)
	}
	if err := q.ack(f.seq - 1); err != nil {
		return err
	}
	// What is oldest now must have sent the frame that was refused.
	if s := q.send(q.sendDone); before(q.seq, f.seq) || before(f.seq, s.first) ||
		(q.sendDone == q.sendNext && !q.begun) {
		return violation("NAK of request %d, %d were sent", f.seq, q.seq)
	}
	c := fabric.Completion{Op: q.send(q.sendDone).op, Status: st, QPN: q.num, ID: q.send(q.sendDone).id}
	q.finish(ending{err: c.Err(), send: st})
	return nil
}
