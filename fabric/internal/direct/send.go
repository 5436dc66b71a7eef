package direct

import (
	"encoding/binary"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

func putWord(b []byte, v uint64) { binary.NativeEndian.PutUint64(b, v) }

// awaitCredit looks for a posted receive. It returns done_ when there is one
// with its length, stalled or a drop when there is none.
func (q *QP) awaitCredit() (length int, has bool, res outcome) {
	l, has, ok := q.out.credit()
	switch {
	case !ok:
		return 0, false, outcome(fabric.StatusProtocol)
	case has:
		return int(l), true, done_
	case q.transport == fabric.UC:
		q.stats.dropped.Add(1)
		return 0, false, done_
	}
	return 0, false, stalled
}

// sendMessage passes a SEND through the ring, in parts if it must.
func (q *QP) sendMessage(w *fabric.WR, inline []byte, sent *int) outcome {
	n := w.Bytes()
	e := entry{kind: kindMore, total: uint32(n)}
	if w.Flags&fabric.FlagSolicited != 0 {
		e.flags = flagSolicited
	}
	if *sent == 0 {
		length, has, res := q.awaitCredit()
		if !has {
			return res
		}
		e.kind = kindSend
		if n > length {
			return q.sendTooLarge(&e)
		}
	}
	for {
		part := min(n-*sent, ringSize/2)
		free, ok := q.out.space(entrySize + padded(part))
		if !ok {
			return outcome(fabric.StatusProtocol)
		}
		if free < entrySize+padded(part) {
			q.publish()
			q.out.nudge()
			return stalled
		}
		if e.kind == kindSend {
			q.out.sent++
		}
		e.frag = uint32(part)
		first, second := q.out.append(&e)
		gather(first, w, inline, *sent)
		gather(second, w, inline, *sent+len(first))
		if *sent += part; *sent == n {
			q.executed(fabric.OpSend, 1, n)
			return done_
		}
		e.kind = kindMore
	}
}

// sendTooLarge tells the receiver of a message that does not fit (G9).
func (q *QP) sendTooLarge(e *entry) outcome {
	free, ok := q.out.space(entrySize)
	if !ok {
		return outcome(fabric.StatusProtocol)
	}
	if free < entrySize {
		return stalled
	}
	e.kind, e.frag = kindLarge, 0
	e.flags |= flagSolicited // an error wakes everybody (G17)
	q.out.sent++
	q.out.append(e)
	q.publish()
	if q.transport == fabric.UC {
		return done_
	}
	return outcome(fabric.StatusRemoteInvalid)
}

// writeImm writes and then consumes a receive of the peer (G19).
func (q *QP) writeImm(w *fabric.WR, inline []byte) outcome {
	n := w.Bytes()
	mem, res := q.target(w, n)
	if res == stalled {
		return stalled
	}
	if res != done_ {
		return q.refusedWrite(res)
	}
	_, has, res := q.awaitCredit()
	if !has {
		return res
	}
	free, ok := q.out.space(entrySize)
	if !ok {
		return outcome(fabric.StatusProtocol)
	}
	if free < entrySize {
		q.publish()
		q.out.nudge()
		return stalled
	}
	place(mem, w, inline)
	e := entry{kind: kindImm, total: uint32(n), imm: w.Imm}
	if w.Flags&fabric.FlagSolicited != 0 {
		e.flags = flagSolicited
	}
	q.out.sent++
	q.out.append(&e)
	q.oneSided(w.Op, 1, n)
	return done_
}

// gather fills dst with the data of a request from byte off on.
func gather(dst []byte, w *fabric.WR, inline []byte, off int) {
	if inline != nil {
		copy(dst, inline[off:])
		return
	}
	base.Gather(dst, &w.Local, w.More, off)
}
