package faults

import (
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// entry is one request in the send queue.
type entry struct {
	id    uint64
	bytes uint32
	op    fabric.Op
	// status is how it ended, fail how the plan wants it to end.
	status, fail fabric.Status
	signaled     bool
	// waits counts the requests of the inner queue pair without which it is not complete.
	waits int
}

// queuePair is a queue pair. Its requests are numbered from 0 (their seq);
// ring holds those from head to tail:
//
//	head     the oldest whose place is taken (F4)
//	retired  the oldest whose completion has not been made
//	tail     the next to be posted
//
// The inner queue pair gets seq as the ID of a request.
type queuePair struct {
	fabric.QP  // the inner one
	dev        *Device
	domain     *domain
	send, recv *cq
	index      uint64
	depth      uint64
	recvDepth  int
	limits     fabric.Limits // of its requests
	decider

	ring                []entry
	head, retired, tail uint64
	// one, oneRecv and segs are what is given to the inner queue pair.
	one     [1]fabric.WR
	oneRecv [1]fabric.RecvWR
	segs    []fabric.Seg
	copies  copies

	// doomed: a request that will fail was posted, those behind it are not
	// executed. failed: a failure was reported, the rest is flushed.
	doomed, failed bool

	lost   atomic.Bool // by Cut
	broken atomic.Pointer[fabric.CompletionError]
}

func (q *queuePair) entry(seq uint64) *entry { return &q.ring[seq&uint64(len(q.ring)-1)] }

// completed takes note of a completion of the inner queue pair.
func (q *queuePair) completed(c *fabric.Completion) {
	switch {
	case c.ID&runTag != 0:
		q.copies.runFailed(int(c.ID&^(copyTag|runTag)), c.Status)
		return
	case c.ID&copyTag != 0:
		q.copies.drop(int(c.ID&^copyTag), c.Status)
	default:
		q.ended(c.ID, c.Status)
	}
	q.retire()
}

// ended takes note of the end of one of the requests of the inner queue pair that entry seq
// waits for. The first failure counts.
func (q *queuePair) ended(seq uint64, status fabric.Status) {
	e := q.entry(seq)
	e.waits--
	e.fails(status)
}

func (e *entry) fails(status fabric.Status) {
	if e.status == fabric.StatusOK && status != fabric.StatusOK {
		e.status, e.bytes = status, 0
	}
}

// retire reports requests that are over, in their order (F2).
func (q *queuePair) retire() {
	for q.retired < q.tail {
		e := q.entry(q.retired)
		if e.waits != 0 {
			return
		}
		q.conclude(e)
		if e.signaled || e.status != fabric.StatusOK {
			q.send.push(item{q: q, seq: q.retired, c: fabric.Completion{
				ID: e.id, Bytes: e.bytes, QPN: q.Num(), Op: e.op, Status: e.status,
			}})
		}
		q.retired++
	}
}

// conclude settles the status of the request that is the next to be over.
func (q *queuePair) conclude(e *entry) {
	switch {
	case q.failed:
		if e.status == fabric.StatusOK {
			e.status = fabric.StatusFlushed
		}
	case e.status != fabric.StatusOK: // failed by itself, or by Cut
		q.failed = true
		if q.lost.Load() && e.status == fabric.StatusFlushed {
			e.status = fabric.StatusPeerLost
			q.dev.record(Event{int(q.index), q.retired, Cut})
		}
	case e.fail != fabric.StatusOK:
		q.failed = true
		e.status = e.fail
		q.broken.Store(&fabric.CompletionError{Op: e.op, Status: e.status, QPN: q.Num(), ID: e.id})
		_ = q.QP.Disconnect()
	}
}

// lose breaks the queue pair because the link was cut, from any goroutine.
func (q *queuePair) lose() {
	if q.QP.State() == fabric.StateReady {
		q.lost.Store(true)
		_ = q.QP.Disconnect()
	}
}

// State implements fabric.QP.
func (q *queuePair) State() fabric.State {
	s := q.QP.State()
	if s == fabric.StateReady && (q.lost.Load() || q.broken.Load() != nil) {
		return fabric.StateError
	}
	return s
}

// Err implements fabric.QP.
func (q *queuePair) Err() error {
	if err := q.broken.Load(); err != nil {
		return err
	}
	if q.lost.Load() {
		return fmt.Errorf("faults: queue pair %d: the link was cut: %w", q.Num(), fabric.ErrPeerLost)
	}
	return q.QP.Err()
}

// Close implements fabric.QP. What is held is lost.
func (q *queuePair) Close() error {
	if err := q.QP.Close(); err != nil {
		return err
	}
	q.dev.remove(q)
	q.send.leave(q)
	if q.recv != q.send {
		q.recv.leave(q)
	}
	q.send.Release(int(q.depth), &q.recv.Places, q.recvDepth)
	return q.copies.close()
}
