package faults

import (
	"fmt"
	"math"
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
	// waits until the inner queue pair has completed it.
	waits bool
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
	fabric.QP // the inner one
	dev       *Device
	domain    *domain
	send      *cq
	recv      *cq
	num       uint32
	index     uint64
	depth     uint64
	recvDepth int
	decider

	ring                []entry
	head, retired, tail uint64
	staged              []fabric.WR // requests to be posted to the inner queue pair
	base                int         // place in its chain of the first of them
	one                 [1]fabric.WR
	recvs               []fabric.RecvWR
	perWR               int          // further segments of a request
	segs                []fabric.Seg // of what is staged, or of one

	// turn is the operation after which something held must go; see release.
	turn uint64
	// copies are the held messages, nil when no rule holds any.
	copies *copies

	// doomed: a request that will fail was posted, those behind it are not
	// executed. failed: a failure was reported, the rest is flushed.
	doomed, failed, closed bool

	lost   atomic.Bool // by Cut
	broken atomic.Pointer[fabric.CompletionError]

	ledger ledger
}

const noTurn = math.MaxUint64

// maxStaged is the longest chain that is posted at once.
const maxStaged = 32

// prepare allocates what the queue pair needs.
func (q *queuePair) prepare(t fabric.Transport) error {
	q.ring = make([]entry, pow2(int(q.depth)))
	q.staged = make([]fabric.WR, 0, min(maxStaged, len(q.ring)))
	q.recvs = make([]fabric.RecvWR, 0, min(maxStaged, q.recvDepth))
	q.perWR = max(q.dev.limits.MaxSegs-1, 0)
	q.segs = make([]fabric.Seg, q.perWR*max(cap(q.staged), cap(q.recvs)))
	q.turn = noTurn
	if !q.dev.plan.holds(t) {
		return nil
	}
	var err error
	q.copies, err = newCopies(q, t)
	return err
}

func (q *queuePair) entry(seq uint64) *entry { return &q.ring[seq&uint64(len(q.ring)-1)] }

// holding reports whether messages are held.
func (q *queuePair) holding() bool { return q.copies != nil && len(q.copies.held) > 0 }

// hold has both completion queues move on what is held.
func (q *queuePair) hold() {
	q.send.hold(q)
	if q.recv != q.send {
		q.recv.hold(q)
	}
}

// record writes down that request seq was struck.
func (q *queuePair) record(r *rule, seq uint64) {
	q.dev.record(Event{QP: int(q.index), Op: seq, Fault: r.fault})
}

// shatter breaks the queue pair because request e was made to fail.
func (q *queuePair) shatter(e *entry) {
	q.broken.Store(&fabric.CompletionError{Op: e.op, Status: e.status, QPN: q.num, ID: e.id})
	q.countError()
	_ = q.QP.Disconnect()
}

// lose breaks the queue pair because the link was cut, from any goroutine.
func (q *queuePair) lose() {
	if q.QP.State() != fabric.StateReady {
		return
	}
	q.lost.Store(true)
	_ = q.QP.Disconnect()
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
		return fmt.Errorf("faults: queue pair %d: the link was cut: %w", q.num, fabric.ErrPeerLost)
	}
	return q.QP.Err()
}

// Counters implements fabric.QP.
func (q *queuePair) Counters() fabric.Counters { return q.ledger.correct(q.QP.Counters()) }

// Close implements fabric.QP. What is held is lost.
func (q *queuePair) Close() error {
	if err := q.QP.Close(); err != nil || q.closed {
		return err
	}
	q.closed = true
	q.dev.remove(q)
	q.send.leave(q)
	if q.recv != q.send {
		q.recv.leave(q)
	}
	unreserve(q.send, q.recv, int(q.depth), q.recvDepth)
	return q.releaseMemory()
}

// releaseMemory gives back what prepare took.
func (q *queuePair) releaseMemory() error {
	if q.copies == nil {
		return nil
	}
	return q.copies.close()
}
