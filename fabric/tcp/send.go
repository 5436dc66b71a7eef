package tcp

import "github.com/remora-kv/remora/fabric"

// encode writes frames into the out-buffer: an ACK if one is due, and requests
// in their order as far as buffer, response window and credits go.
func (q *conn) encode() {
	if q.ackDue() && q.out.sent >= q.ackEnd {
		q.encodeAck()
	}
	for q.sendNext != q.sendPosted {
		s := q.send(q.sendNext)
		if !q.encodeRequest(s) {
			return
		}
		s.last = q.seq
		q.sendNext++
		q.begun, q.written = false, 0
		if q.transport == fabric.UC {
			q.completeSend(fabric.StatusOK)
		}
	}
}

// encodeRequest writes what is left to write of a request. It reports whether
// that was all.
func (q *conn) encodeRequest(s *sendSlot) bool {
	switch s.op {
	case fabric.OpRead:
		return q.encodeRead(s)
	case fabric.OpFetchAdd, fabric.OpCmpSwap:
		return q.encodeAtomic(s)
	default:
		return q.encodeMessage(s)
	}
}

// encodeMessage writes what is left of a SEND, WRITE or WRITE_IMM.
func (q *conn) encodeMessage(s *sendSlot) bool {
	if !q.begun && !q.encodeFirst(s) {
		return false
	}
	for q.written < s.bytes {
		n := cut(s.cutAt()+uint64(q.written), s.bytes-q.written)
		if !q.out.admits(headSize + int(n)) {
			return false
		}
		b := q.out.request(headSize + int(n))
		encodeHead(b, kindData, 0, n, q.seq, 0)
		s.gather(b[headSize:], q.written)
		q.written += n
	}
	return true
}

// cutAt is the address that decides where a message is cut into frames.
func (s *sendSlot) cutAt() uint64 {
	if s.op == fabric.OpSend {
		return 0
	}
	return s.remote.Addr
}

// encodeFirst writes the first frame of a SEND, WRITE or WRITE_IMM.
func (q *conn) encodeFirst(s *sendSlot) bool {
	takesRecv := q.transport == fabric.RC && s.op != fabric.OpWrite
	if takesRecv && q.credit == q.spent {
		q.starve()
		return false
	}
	n := cut(s.cutAt(), s.bytes)
	head := remoteSize
	if s.op == fabric.OpSend {
		head = headSize
	}
	if !q.out.admits(head + int(n)) {
		return false
	}
	if takesRecv {
		q.spent++
	}
	flags := uint8(0)
	if s.flags&fabric.FlagSolicited != 0 && s.op != fabric.OpWrite {
		flags = flagSolicited
	}
	q.seq++
	b := q.out.request(head + int(n))
	switch s.op {
	case fabric.OpSend:
		encodeHead(b, kindSend, flags, n, q.seq, s.bytes)
	case fabric.OpWrite:
		encodeHead(b, kindWrite, flags, n, q.seq, s.remote.Key)
		encodeRemote(b, s.remote.Addr, s.bytes, 0)
	default:
		encodeHead(b, kindWriteImm, flags, n, q.seq, s.remote.Key)
		encodeRemote(b, s.remote.Addr, s.bytes, s.imm)
	}
	s.gather(b[head:], 0)
	q.begun, q.written, s.first = true, n, q.seq
	return true
}

// encodeRead asks for the memory in pieces that fit the response window.
func (q *conn) encodeRead(s *sendSlot) bool {
	for !q.begun || q.written < s.bytes {
		n := cut(s.remote.Addr+uint64(q.written), s.bytes-q.written)
		if q.asked+headSize+n > q.peerWindow || !q.out.admits(remoteSize) {
			return false
		}
		q.seq++
		if !q.begun {
			q.begun, s.first = true, q.seq
		}
		b := q.out.request(remoteSize)
		encodeHead(b, kindRead, 0, 0, q.seq, s.remote.Key)
		encodeRemote(b, s.remote.Addr+uint64(q.written), n, s.bytes-q.written-n)
		q.asked += headSize + n
		q.written += n
	}
	return true
}

func (q *conn) encodeAtomic(s *sendSlot) bool {
	if q.asked+atomicDataSize > q.peerWindow || !q.out.admits(atomicSize) {
		return false
	}
	k := kindFetchAdd
	if s.op == fabric.OpCmpSwap {
		k = kindCmpSwap
	}
	q.seq++
	s.first = q.seq
	b := q.out.request(atomicSize)
	encodeHead(b, k, 0, 0, q.seq, s.remote.Key)
	encodeRemote(b, s.remote.Addr, 8, 0)
	encodeOperands(b, s.operand, s.compare)
	q.asked += atomicDataSize
	return true
}

// ackDue reports whether the peer must get something that no other
// response tells it.
func (q *conn) ackDue() bool {
	return q.transport == fabric.RC && (q.executed != q.told || q.answerDue || q.creditDue)
}

// encodeAck tells the peer what was executed and how many receives there are.
func (q *conn) encodeAck() {
	flags := uint8(0)
	if q.answerDue {
		flags = flagAnswer
		q.peerStarves = q.recvPosted == q.recvDone
	}
	b := q.out.extend(headSize)
	encodeHead(b, kindAck, flags, 0, q.executed, q.recvPosted)
	q.told, q.offered = q.executed, q.recvPosted
	q.answerDue, q.creditDue = false, false
	q.ackEnd = q.out.sent + uint64(q.out.pending())
}

// offerCredit adds an ACK to what is about to be written when the peer knows
// of less than half of the receives it could use.
func (q *conn) offerCredit() {
	if q.recvPosted != q.offered && 2*(q.offered-q.recvDone) <= q.recvPosted-q.recvDone {
		q.creditDue = true
	}
}

// starve asks the peer whether there is a receive for the next request. The
// time that the request may wait begins now (G9).
func (q *conn) starve() {
	if q.starving != starvingNot {
		return
	}
	q.starving = starvingAsked
	q.rnrStart = q.dev.clock.Now()
	encodeHead(q.out.extend(headSize), kindProbe, 0, 0, 0, 0)
}

// starvingStill is called when the peer has said that there is no receive.
func (q *conn) starvingStill() {
	q.starving = starvingKnown
	if q.rnr == fabric.RNRForever {
		return
	}
	end := q.rnrStart + int64(q.rnr)
	if q.dev.clock.Now() >= end {
		q.failSend(fabric.StatusRNRExceeded)
		return
	}
	q.rnrEnd.Store(end)
	q.dev.nic.expect(q)
}

// rnrExpired is called by the background thread when the time is over. What
// the peer has said meanwhile counts first.
func (q *conn) rnrExpired(into []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.Ready() || q.rnrEnd.Load() == 0 {
		return
	}
	q.receive(into)
	if q.Ready() && q.rnrEnd.Load() != 0 {
		q.failSend(fabric.StatusRNRExceeded)
		return
	}
	if q.Ready() {
		q.transmit()
	}
}
