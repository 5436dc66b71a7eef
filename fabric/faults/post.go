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
	if q.closed {
		return 0, fmt.Errorf("faults: queue pair %d: %w", q.num, fabric.ErrClosed)
	}
	if q.holding() {
		q.copies.release(q.dev.clock.Now())
	}
	n, err := q.post(wrs)
	q.retire()
	return n, err
}

func (q *queuePair) post(wrs []fabric.WR) (int, error) {
	alive := q.QP.State() == fabric.StateReady
	for i := range wrs {
		w := &wrs[i]
		if q.tail-q.head >= q.depth {
			if n, err := q.flush(i); err != nil {
				return n, err
			}
			return i, fabric.ErrQueueFull
		}
		r := q.judge(w.Op, alive)
		if r == nil && !q.doomed && !q.copies.blocks() {
			q.stage(w, i)
			if len(q.staged) < cap(q.staged) && q.tail <= q.turn {
				continue
			}
			if n, err := q.flush(i + 1); err != nil {
				return n, err
			}
			continue
		}
		// From here on the inner device does not see the request now, and
		// perhaps never; what is wrong with it must be found here.
		if n, err := q.flush(i); err != nil {
			return n, err
		}
		if err := fabric.ValidateWR(w, q.Transport(), q.domain, &q.dev.limits); err != nil {
			return i, &fabric.PostError{Index: i, Err: err}
		}
		q.divert(w, r)
	}
	return q.flush(len(wrs))
}

// judge decides what becomes of the next request: nil means nothing.
func (q *queuePair) judge(op fabric.Op, alive bool) *rule {
	if !alive || q.doomed {
		return nil
	}
	if q.dev.cut.Load() && q.Transport() != fabric.RC {
		return &handCut
	}
	if len(q.streams) == 0 {
		return nil
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

// inside makes w a request for the inner queue pair; room is for its segments.
func inside(w *fabric.WR, seq uint64, room []fabric.Seg) {
	w.ID = seq
	w.Flags |= fabric.FlagSignaled
	withinAll(&w.Local, &w.More, room)
	if w.To != nil {
		w.To, _ = destination(w.To)
	}
}

// room is for the segments of request i of those that go out together.
func (q *queuePair) room(i int) []fabric.Seg { return q.segs[i*q.perWR : (i+1)*q.perWR] }

// stage adds a request, number i of its chain, to those that go out together.
func (q *queuePair) stage(w *fabric.WR, i int) {
	if len(q.staged) == 0 {
		q.base = i
	}
	k := len(q.staged)
	q.staged = append(q.staged, *w)
	inside(&q.staged[k], q.tail, q.room(k))
	q.enter(w).waits = true
}

// flush posts what is staged, up to number i of the chain, and sends what
// waited for it. It returns how many of the chain were posted.
func (q *queuePair) flush(i int) (int, error) {
	if len(q.staged) == 0 {
		return i, nil
	}
	n, err := q.QP.Post(q.staged)
	refused := len(q.staged) - n
	q.staged = q.staged[:0]
	q.tail -= uint64(refused)
	if q.tail > q.turn {
		q.overtaken()
	}
	if refused == 0 {
		return i, nil
	}
	return q.base + n, moved(err, q.base+n)
}

// moved gives a PostError its place in the program's chain.
func moved(err error, i int) error {
	var pe *fabric.PostError
	if errors.As(err, &pe) {
		return &fabric.PostError{Index: i, Err: pe.Err}
	}
	return err
}

// PostRecv implements fabric.QP.
func (q *queuePair) PostRecv(wrs []fabric.RecvWR) (int, error) {
	for base := 0; base < len(wrs); base += len(q.recvs) {
		q.recvs = append(q.recvs[:0], wrs[base:min(base+cap(q.recvs), len(wrs))]...)
		for i := range q.recvs {
			withinAll(&q.recvs[i].Local, &q.recvs[i].More, q.room(i))
		}
		if n, err := q.QP.PostRecv(q.recvs); err != nil {
			return base + n, moved(err, base+n)
		}
	}
	return len(wrs), nil
}

// overtaken sends what waited for later requests to go first.
func (q *queuePair) overtaken() { q.copies.release(q.dev.clock.Now()) }

// divert does to a valid request what the rule says. Without a rule it waits
// behind others or goes down with its queue pair.
func (q *queuePair) divert(w *fabric.WR, r *rule) {
	seq := q.tail
	e := q.enter(w)
	switch {
	case r == nil && q.doomed:
		return
	case r == nil:
		q.copies.strike(w, nil, seq, e)
		return
	}
	switch r.fault {
	case Break, Lose:
		q.sever(w, r, seq, e)
	case Drop, Cut:
		q.countLost(w.Op, int(e.bytes))
	default:
		q.copies.strike(w, r, seq, e)
	}
	q.record(r, seq)
	if q.tail > q.turn {
		q.overtaken()
	}
}

// sever is what Break and Lose do.
func (q *queuePair) sever(w *fabric.WR, r *rule, seq uint64, e *entry) {
	q.doomed = true
	if e.fail = fitting(r.status, w.Op); q.Transport() == fabric.UD {
		e.fail = fabric.StatusFlushed // there is no peer that could be the reason
	}
	if r.fault == Lose {
		q.pass(w, seq, e)
	}
}

// fitting returns a status that a request of this kind can fail with.
func fitting(s fabric.Status, op fabric.Op) fabric.Status {
	if (s == fabric.StatusRNRExceeded && op != fabric.OpSend && op != fabric.OpWriteImm) ||
		(s == fabric.StatusRemoteAccess && !op.OneSided()) {
		return fabric.StatusPeerLost
	}
	return s
}

// pass gives a request that has entered to the inner queue pair now. An inner
// device that refuses what is valid has reasons of its own; then the request
// counts as lost in flight.
func (q *queuePair) pass(w *fabric.WR, seq uint64, e *entry) {
	q.one[0] = *w
	inside(&q.one[0], seq, q.room(0))
	n, _ := q.QP.Post(q.one[:])
	e.waits = n == 1
	if n != 1 {
		q.countLost(e.op, int(e.bytes))
	}
}
