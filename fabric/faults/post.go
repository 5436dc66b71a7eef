package faults

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// handCut is the rule in force while the link is cut by hand.
var handCut = rule{fault: Cut}

// Post implements fabric.QP.
func (q *queuePair) Post(wrs []fabric.WR) (int, error) {
	state := q.QP.State()
	if state == fabric.StateClosed {
		return 0, fmt.Errorf("faults: queue pair %d: %w", q.Num(), fabric.ErrClosed)
	}
	if len(q.copies.held) > 0 {
		q.copies.release(q.dev.clock.Now())
	}
	defer q.retire()
	for i := range wrs {
		w := &wrs[i]
		if q.copies.scattered > 0 {
			q.copies.settleBefore(w)
		}
		if q.tail-q.head >= q.depth {
			return i, fabric.ErrQueueFull
		}
		r := q.judge(w.Op, state == fabric.StateReady)
		if r != nil || q.doomed || q.copies.blocks() {
			// The inner device does not see the request now, and perhaps never; what
			// is wrong with it must be found here.
			if err := fabric.ValidateWR(w, q.Transport(), q.domain, &q.limits); err != nil {
				return i, &fabric.PostError{Index: i, Err: err}
			}
			q.divert(w, r)
		} else if err := q.pass(w, q.tail); err != nil {
			return i, atIndex(err, i)
		} else {
			q.enter(w).waits = 1
		}
		if q.tail > q.copies.turn {
			q.copies.release(q.dev.clock.Now())
		}
	}
	return len(wrs), nil
}

// atIndex gives a PostError its place in the program's chain.
func atIndex(err error, i int) error {
	var pe *fabric.PostError
	if errors.As(err, &pe) {
		return &fabric.PostError{Index: i, Err: pe.Err}
	}
	return err
}

// judge decides what becomes of the next request: nil means nothing.
func (q *queuePair) judge(op fabric.Op, alive bool) *rule {
	switch {
	case !alive || q.doomed:
		return nil
	case q.dev.cut.Load() && q.Transport() != fabric.RC:
		return &handCut
	}
	return q.decide(q.tail, op)
}

// enter takes the next place in the send queue.
func (q *queuePair) enter(w *fabric.WR) *entry {
	e := q.entry(q.tail)
	*e = entry{id: w.ID, op: w.Op, bytes: uint32(w.Bytes()), signaled: w.Flags&fabric.FlagSignaled != 0}
	q.tail++
	return e
}

// pass posts a request to the inner queue pair, signaled.
func (q *queuePair) pass(w *fabric.WR, id uint64) error {
	v := &q.one[0]
	*v = *w
	v.ID, v.Flags = id, w.Flags|fabric.FlagSignaled
	v.More = q.within(&v.Local, v.More)
	if h, ok := w.To.(*handle); ok {
		v.To = h.AddressHandle
	}
	_, err := q.QP.Post(q.one[:])
	return err
}

// PostRecv implements fabric.QP.
func (q *queuePair) PostRecv(wrs []fabric.RecvWR) (int, error) {
	for i := range wrs {
		v := &q.oneRecv[0]
		*v = wrs[i]
		v.More = q.within(&v.Local, v.More)
		if _, err := q.QP.PostRecv(q.oneRecv[:]); err != nil {
			return i, atIndex(err, i)
		}
	}
	return len(wrs), nil
}

// divert does to a valid request what the rule says. Without a rule it waits
// behind others or goes down with its queue pair.
func (q *queuePair) divert(w *fabric.WR, r *rule) {
	seq := q.tail
	e := q.enter(w)
	if q.doomed {
		return
	}
	var fault Fault
	if r != nil && r.fault == Part && w.Bytes() <= q.dev.limits.MTU {
		r = nil
	}
	if r != nil {
		fault = r.fault
		q.dev.record(Event{int(q.index), seq, fault})
	}
	if r.scatters() && (q.copies.blocks() || !q.copies.canScatter(w)) {
		r, fault = nil, ""
	}
	switch fault {
	case Drop, Cut:
		return
	case Break, Lose:
		q.doomed, e.fail = true, q.fitting(r.status, w.Op)
		if fault == Lose {
			q.passOn(e, w, seq)
		}
		return
	case Part:
		if cut := q.partOf(w, seq); cut.Local.Len != 0 {
			q.passOn(e, &cut, seq)
		}
		return
	case Shuffle, Replay:
		q.copies.scatter(e, w, r, seq)
		return
	case Dup:
		q.passOn(e, w, seq)
		q.copies.hold(w, r, seq)
	default:
		if (r != nil || q.copies.blocks()) && q.copies.hold(w, r, seq) {
			return
		}
		if q.copies.blocks() { // what is behind a delayed message stays there
			q.copies.release(never)
		}
		q.passOn(e, w, seq)
	}
}

// passOn posts the request of an entry to the inner queue pair.
func (q *queuePair) passOn(e *entry, w *fabric.WR, seq uint64) {
	if q.pass(w, seq) == nil {
		e.waits++
	}
}

// partOf is a WRITE of the first packets of a longer one, whose other packets are lost.
func (q *queuePair) partOf(w *fabric.WR, seq uint64) fabric.WR {
	mtu := q.dev.limits.MTU
	packets := (w.Local.Len + mtu - 1) / mtu
	cut := *w
	cut.Op, cut.More = fabric.OpWrite, nil
	if packets != 0 {
		cut.Local.Len = int(q.draw(seq, 0)%uint64(packets)) * mtu
	}
	return cut
}

// draw is a number for a purpose of operation seq (F1).
func (q *queuePair) draw(seq, purpose uint64) uint64 {
	return mix(mix(mix(q.dev.plan.seed+golden*(q.index+1))+golden*(seq+1)) + purpose)
}

// fitting returns a status that a request of this kind can fail with.
func (q *queuePair) fitting(s fabric.Status, op fabric.Op) fabric.Status {
	switch {
	case q.Transport() == fabric.UD:
		return fabric.StatusFlushed // there is no peer that could be the reason
	case s == fabric.StatusRNRExceeded && op != fabric.OpSend && op != fabric.OpWriteImm,
		s == fabric.StatusRemoteAccess && !op.OneSided():
		return fabric.StatusPeerLost
	}
	return s
}
