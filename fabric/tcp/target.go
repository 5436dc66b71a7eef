package tcp

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// request executes a request of the peer, or begins to (I1: in the order they
// come, at once).
func (q *conn) request(f *frame) error {
	if f.seq != q.executed+1 {
		return violation("%v with sequence number %d after %d", f.kind, f.seq, q.executed)
	}
	if (f.kind == kindData) != (q.msg.kind != 0) {
		return violation("%v inside or outside of a message", f.kind)
	}
	switch f.kind {
	case kindSend:
		return q.beginSend(f)
	case kindWrite, kindWriteImm:
		return q.beginWrite(f)
	case kindData:
		return q.beginPayload(f.length)
	case kindRead:
		return q.executeRead(f)
	default:
		return q.executeAtomic(f)
	}
}

// beginSend finds the receive for a SEND (G9).
func (q *conn) beginSend(f *frame) error {
	q.msg = message{kind: kindSend, total: f.arg, solicited: f.flags&flagSolicited != 0}
	switch {
	case q.recvDone == q.recvPosted:
		if q.transport == fabric.RC {
			return violation("SEND without a receive that was offered")
		}
		q.msg.drop = true
	case int(f.arg) > q.recv(q.recvDone).Size:
		r := q.recv(q.recvDone)
		c := fabric.Completion{Op: fabric.OpRecv, Status: fabric.StatusLocalLength, QPN: q.num, ID: r.ID}
		e := ending{
			err:  fmt.Errorf("message of %d bytes for a receive of %d: %w", f.arg, r.Size, c.Err()),
			recv: fabric.StatusLocalLength, say: kindBye,
		}
		if q.transport == fabric.RC {
			e.say, e.status = kindNak, fabric.StatusRemoteInvalid
		}
		q.finish(e)
		return nil
	}
	return q.beginPayload(f.length)
}

// beginWrite looks at the rights of a WRITE or WRITE_IMM (G7).
func (q *conn) beginWrite(f *frame) error {
	q.msg = message{
		kind: f.kind, total: f.total, key: f.arg, addr: f.addr, imm: f.extra,
		solicited: f.flags&flagSolicited != 0,
	}
	if f.total != 0 && q.dev.reach(q.domain, f.arg, f.addr, uint64(f.total), fabric.RemoteWrite) == nil {
		if q.transport == fabric.RC {
			q.refuse(f.kind)
			return nil
		}
		q.msg.drop = true
	}
	if f.kind == kindWriteImm && q.recvDone == q.recvPosted {
		if q.transport == fabric.RC {
			return violation("WRITE_IMM without a receive that was offered")
		}
		q.msg.drop = true
	}
	return q.beginPayload(f.length)
}

// beginPayload begins a frame that brings n bytes of the message.
func (q *conn) beginPayload(n uint32) error {
	m := &q.msg
	rest := m.total - m.done
	if n > rest || (n == 0 && rest != 0) {
		return violation("%d bytes of payload where %d are left of the message", n, rest)
	}
	if n < rest && m.kind != kindSend && (m.addr+uint64(m.done)+uint64(n))%8 != 0 {
		return violation("message cut inside a word")
	}
	q.left, q.leftKind = n, m.kind
	if n == 0 {
		q.messageEnd()
	}
	return nil
}

// placeMessage puts bytes of the message where they belong, and returns how
// many. Unless b is the whole rest of its frame, it stops at an aligned word,
// so that no word is torn between two reads from the socket (G5). The region
// is looked up for each piece, because it may be revoked in between (I6).
func (q *conn) placeMessage(b []byte, whole bool) int {
	m := &q.msg
	n := len(b)
	switch {
	case m.drop:
	case m.kind == kindSend:
		r := q.recv(q.recvDone)
		r.Scatter(int(m.done), b)
	default:
		at := m.addr + uint64(m.done)
		if !whole {
			n -= int((at + uint64(n)) % 8)
		}
		if n <= 0 {
			return 0
		}
		mem := q.dev.reach(q.domain, m.key, at, uint64(n), fabric.RemoteWrite)
		switch {
		case mem != nil:
			fence.CopyOut(mem, b[:n])
		case q.transport == fabric.RC:
			q.refuse(m.kind)
			return n
		default:
			m.drop = true
		}
	}
	m.done += uint32(n)
	return n
}

// messageEnd is called when the last byte of a message is in place.
func (q *conn) messageEnd() {
	m := q.msg
	q.msg = message{}
	q.executed++
	if m.drop {
		fence.Count(&q.stats.dropped, 1)
		return
	}
	c := fabric.Completion{Bytes: m.total}
	switch m.kind {
	case kindWrite:
		q.stats.served(fabric.OpWrite, m.total)
		return
	case kindWriteImm:
		q.stats.served(fabric.OpWriteImm, m.total)
		fence.Count(&q.stats.in[fabric.OpRecv], 1)
		c.Imm, c.HasImm = m.imm, true
	default:
		q.stats.served(fabric.OpRecv, m.total)
	}
	q.completeRecv(&c, m.solicited)
}

// executeRead appends a READ_DATA with the memory as it is now.
func (q *conn) executeRead(f *frame) error {
	n := f.total
	var mem []byte
	if n != 0 {
		// The rights of all of the READ are looked at with each piece, so
		// that one that is refused has brought nothing (G7).
		mem = q.dev.reach(q.domain, f.arg, f.addr, uint64(n)+uint64(f.extra), fabric.RemoteRead)
		if mem == nil {
			q.refuse(f.kind)
			return nil
		}
	}
	b, err := q.respond(headSize + int(n))
	if err != nil {
		return err
	}
	encodeHead(b, kindReadData, 0, n, q.executed, q.recvPosted)
	fence.CopyIn(b[headSize:], mem[:n])
	fence.Count(&q.stats.inBytes, uint64(n))
	if f.extra == 0 {
		fence.Count(&q.stats.in[fabric.OpRead], 1)
	}
	return nil
}

// executeAtomic performs FETCH_ADD or CMP_SWAP on the word itself, so that it
// is atomic against every other one (G6).
func (q *conn) executeAtomic(f *frame) error {
	mem := q.dev.reach(q.domain, f.arg, f.addr, 8, fabric.RemoteAtomic)
	if mem == nil {
		q.refuse(f.kind)
		return nil
	}
	b, err := q.respond(atomicDataSize)
	if err != nil {
		return err
	}
	word := fence.Word(mem, 0)
	var old uint64
	op := fabric.OpCmpSwap
	if f.kind == kindFetchAdd {
		op = fabric.OpFetchAdd
		old = word.Add(f.operand) - f.operand
	} else {
		for {
			if old = word.Load(); old != f.compare || word.CompareAndSwap(old, f.operand) {
				break
			}
		}
	}
	encodeHead(b, kindAtomicData, 0, 0, q.executed, q.recvPosted)
	encodeValue(b, old)
	q.stats.served(op, 8)
	return nil
}

// respond makes room for the n bytes of a response that says that one more
// request was executed. A peer that keeps to its window finds it (I2).
func (q *conn) respond(n int) ([]byte, error) {
	if q.out.pending()+n > maxOut {
		return nil, violation("more responses asked for than the window of %d bytes", window)
	}
	q.executed++
	q.told, q.offered = q.executed, q.recvPosted
	return q.out.extend(n), nil
}

// refuse ends the connection because the peer may not do what it asked for
// (G7).
func (q *conn) refuse(k kind) {
	const st = fabric.StatusRemoteAccess
	q.finish(ending{
		err: fmt.Errorf("fabric: queue pair %d: %v of the peer was refused with %v: %w", q.num, k, st, fabric.ErrCompletion),
		say: kindNak, status: st,
	})
}
