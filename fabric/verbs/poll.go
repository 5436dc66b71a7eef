//go:build rdma

package verbs

import (
	"math"
	"math/bits"
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// The parts of a wr_id (I1).
const (
	tagShift = 32
	recvBit  = 1 << 31
	slotMask = recvBit - 1
)

// Poll implements fabric.CQ.
func (c *CQ) Poll(out []fabric.Completion) int {
	if c.gone {
		return 0
	}
	if c.Noted() {
		c.Attend()
	}
	n := 0
	if len(c.soft)+len(c.stash) != 0 {
		n = c.takeKept(out)
	}
	if c.ahead != c.aheadEnd {
		// Before a sleep the adapter is asked as well: it makes no event for
		// what was there before (see Waiter.sleep).
		if n = c.takeAhead(out, n); n != 0 && c.Asleep.Load() == 0 {
			return n
		}
	}
	for n < len(out) {
		want := min(len(out)-n, batchMax)
		got := c.hw.cq.poll(c.staging, want)
		for i := range got {
			n += c.take(&c.staging.done[i], &out[n])
		}
		if got < want {
			if len(c.timed) != 0 {
				c.watch()
			}
			break
		}
	}
	if len(c.late) != 0 {
		n += c.flushLate(out[n:])
	}
	return n
}

// watch ends waits for receives that took too long. There is no completion
// left in the queue, so what is not known to be done is not done.
func (c *CQ) watch() {
	now := c.dev.clock.Now()
	c.timed = slices.DeleteFunc(c.timed, func(q *QP) bool {
		switch {
		case q.sendKnown == q.sendPosted || q.settled:
			q.isTimed = false
			return true
		case q.waiting == 0:
			q.waiting = max(now, 1)
		case now-q.waiting >= int64(q.rnr.limit):
			q.rnrOver = true
			s := &q.sends[q.sendKnown&q.sendMask]
			c := fabric.Completion{ID: s.id, QPN: q.num, Op: s.op, Status: fabric.StatusRNRExceeded}
			q.breakDown(c.Err(), byeOver)
			q.settle()
		}
		return false
	})
}

// deadline returns when watch has something to do next.
func (c *CQ) deadline() int64 {
	at := int64(math.MaxInt64)
	for _, q := range c.timed {
		if q.waiting != 0 && !q.settled {
			at = min(at, q.waiting+int64(q.rnr.limit))
		}
	}
	return at
}

// take turns a completion of the adapter into one of the contract. It returns
// 0 when there is nothing to tell.
func (c *CQ) take(w *workCompletion, out *fabric.Completion) int {
	q := c.find(uint32(w.id >> tagShift))
	if q == nil {
		return 0
	}
	if w.id&recvBit != 0 {
		return q.recvDone(w, out)
	}
	return q.sendDone(w, out)
}

// takeKept delivers completions that are not in the adapter's queue any more,
// or never were.
func (c *CQ) takeKept(out []fabric.Completion) int {
	n, used := 0, 0
	for used < len(c.soft) && n < len(out) {
		s := &c.soft[used]
		used++
		n += s.q.softSent(s.slot, &out[n])
	}
	c.soft = slices.Delete(c.soft, 0, used)
	used = 0
	for used < len(c.stash) && n < len(out) {
		n += c.take(&c.stash[used], &out[n])
		used++
	}
	c.stash = slices.Delete(c.stash, 0, used)
	return n
}

// takeAhead delivers completions that Post took along, behind the n that out
// has already.
func (c *CQ) takeAhead(out []fabric.Completion, n int) int {
	for c.ahead != c.aheadEnd && n < len(out) {
		n += c.take(&c.staging.done[c.ahead], &out[n])
		c.ahead++
	}
	return n
}

// pull moves everything out of the adapter's queue.
func (c *CQ) pull() {
	if c.ahead != c.aheadEnd && !c.gone { // the staging area goes with the queue
		c.stash = append(c.stash, c.staging.done[c.ahead:c.aheadEnd]...)
		c.ahead = c.aheadEnd
	}
	for !c.gone {
		got := c.hw.cq.poll(c.staging, batchMax)
		c.stash = append(c.stash, c.staging.done[:max(got, 0)]...)
		if got < batchMax {
			return
		}
	}
}

// empty forgets what a closed queue pair leaves behind, so that it takes no
// room (I3), nor memory while the program does not poll. What it had done is counted.
func (c *CQ) empty(q *QP, tag uint32) {
	c.pull()
	var out fabric.Completion
	c.stash = slices.DeleteFunc(c.stash, func(w workCompletion) bool {
		if uint32(w.id>>tagShift) != tag {
			return false
		}
		c.take(&w, &out)
		return true
	})
	c.soft = slices.DeleteFunc(c.soft, func(s softDone) bool { return s.q == q })
	c.late = slices.DeleteFunc(c.late, func(l *QP) bool { return l == q })
	c.timed = slices.DeleteFunc(c.timed, func(l *QP) bool { return l == q })
	c.Attend() // its notes are among them
}

// sendDone handles the completion of a request.
func (q *QP) sendDone(w *workCompletion, out *fabric.Completion) int {
	slot := q.sendKnown + uint64((uint32(w.id)-uint32(q.sendKnown))&slotMask)
	if slot >= q.sendPosted {
		return 0 // no adapter completes what was not posted
	}
	for s := q.sendKnown; s != slot; s++ {
		q.executed(&q.sends[s&q.sendMask]) // I2
	}
	if q.owed != 0 && w.status != wcOK { // a datagram that is lost
		q.stats.dropped.Add(1)
		w.status = wcOK
	}
	s := &q.sends[slot&q.sendMask]
	q.sendKnown, q.waiting = slot+1, 0
	if q.dev.quirks.SilentTarget {
		fence.Publish64(&q.stats.known, q.sendKnown)
	}
	if w.status == wcOK {
		q.executed(s)
		if s.flags&fabric.FlagSignaled == 0 {
			return 0 // the adapter was asked to tell, the program was not (always)
		}
	}
	q.sendRetired = slot + 1
	*out = fabric.Completion{ID: s.id, Bytes: s.bytes, QPN: q.num, Op: s.op}
	if w.status == wcOK {
		return 1
	}
	out.Status = q.sendStatus(w.status, s.op)
	q.failed(out, q.recv)
	return 1
}

// softSent is sendDone for a request that the adapter has forgotten.
func (q *QP) softSent(slot uint64, out *fabric.Completion) int {
	w := workCompletion{id: slot & slotMask, status: wcOK}
	return q.sendDone(&w, out)
}

// recvDone handles the completion of a receive.
func (q *QP) recvDone(w *workCompletion, out *fabric.Completion) int {
	if q.recvRetired == q.recvHanded {
		return 0
	}
	if w.status != wcOK && q.transport == fabric.UD && q.survives(w.status) {
		return 0
	}
	*out = fabric.Completion{ID: q.recvs[q.recvRetired&q.recvMask], QPN: q.num, Op: fabric.OpRecv}
	q.recvRetired++
	if w.status != wcOK {
		out.Status = q.recvStatus(w.status)
		q.failed(out, q.send)
		return 1
	}
	out.Bytes = w.bytes
	if w.opcode == wcRecvWithImm {
		out.Imm, out.HasImm = bits.ReverseBytes32(w.imm), true
	}
	if q.transport == fabric.UD {
		out.SrcQPN = w.srcQPN
	}
	q.received(out)
	return 1
}

// flushLate completes receives that were posted to a broken queue pair, once
// the adapter has returned those before them (I5).
func (c *CQ) flushLate(out []fabric.Completion) int {
	n := 0
	c.late = slices.DeleteFunc(c.late, func(q *QP) bool {
		for n < len(out) && q.recvRetired >= q.recvHanded && q.recvRetired != q.recvPosted {
			out[n] = fabric.Completion{
				ID: q.recvs[q.recvRetired&q.recvMask], QPN: q.num, Op: fabric.OpRecv, Status: fabric.StatusFlushed,
			}
			q.recvRetired++
			q.recvHanded = q.recvRetired
			n++
		}
		q.isLate = q.recvRetired != q.recvPosted
		return !q.isLate
	})
	return n
}

// sendStatus maps the adapter's verdict on a request.
func (q *QP) sendStatus(status uint32, op fabric.Op) fabric.Status {
	switch status {
	case wcFlushed:
		return q.flushStatus(op)
	case wcRemAccess:
		return fabric.StatusRemoteAccess
	case wcRemInvalid, wcRemOp:
		return fabric.StatusRemoteInvalid
	case wcRNR:
		return fabric.StatusRNRExceeded
	case wcRetry:
		if q.accused.Load() { // it repeated what the peer, which has broken over it, did not answer
			return blame(op)
		}
	case wcLocLen, wcLocProt:
		return fabric.StatusLocalLength
	}
	return fabric.StatusPeerLost
}

// flushStatus returns what a flush means: the oldest request may be the one
// that was given up here or that the peer complained of.
func (q *QP) flushStatus(op fabric.Op) fabric.Status {
	switch {
	case q.broken:
	case q.rnrOver:
		return fabric.StatusRNRExceeded
	case q.blamed.Load():
		return blame(op)
	}
	return fabric.StatusFlushed
}

// blame returns how a request failed of which the peer complained.
func blame(op fabric.Op) fabric.Status {
	if op.OneSided() {
		return fabric.StatusRemoteAccess
	}
	return fabric.StatusRemoteInvalid
}

// recvStatus maps the adapter's verdict on a receive. A receive that a wrong
// WRITE_IMM would have consumed was not used. Whatever else can be wrong with
// a receive that passed validation is its length.
func (q *QP) recvStatus(status uint32) fabric.Status {
	switch status {
	case wcFlushed, wcRemAccess:
		return fabric.StatusFlushed
	case wcLocLen, wcLocQPOp, wcLocProt, wcRemInvalid, wcRemOp:
		return fabric.StatusLocalLength
	}
	return fabric.StatusPeerLost
}
