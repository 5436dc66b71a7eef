package herd

import (
	"cmp"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// replyQP is the UD queue pair of a core on one device.
type replyQP struct {
	registry *registry
	cq       fabric.CQ
	qp       fabric.QP
	inline   int

	depth    uint64
	posted   uint64 // SENDs so far; their numbers are their IDs
	signaled uint64 // the last of them that yields a completion
	done     uint64 // those known to be complete
	err      error  // why it broke
	closed   bool
	comps    [16]fabric.Completion
	one      [1]fabric.WR
}

// replyDepth is how many SENDs can be outstanding.
const replyDepth = 512

func newReplyQP(r *registry, inline int) (*replyQP, error) {
	lim := r.dev.Limits()
	q := &replyQP{registry: r, depth: uint64(min(replyDepth, lim.MaxDepth)), inline: min(inline, lim.MaxInline)}
	var err error
	if q.cq, err = r.dev.NewCQ(int(q.depth) + 1); err != nil {
		return nil, err
	}
	if q.qp, err = q.newQP(); err != nil {
		_ = q.cq.Close()
		return nil, err
	}
	return q, nil
}

func (q *replyQP) newQP() (fabric.QP, error) {
	return q.registry.domain.NewUD(fabric.QPConfig{
		Transport: fabric.UD, SendCQ: q.cq, RecvCQ: q.cq, SendDepth: int(q.depth), RecvDepth: 1,
		MaxSegs: 1, MaxInline: cmp.Or(max(q.inline, 0), fabric.NoInline),
	})
}

// broken reports whether nothing is sent any more.
func (q *replyQP) broken() bool {
	q.reap()
	return q.err != nil || q.qp.State() != fabric.StateReady
}

// renew makes the queue pair anew. What was posted to the old one is over when that is
// closed (T4), whatever became of it. When it fails the reply QP stays broken.
func (q *replyQP) renew() error {
	if q.qp.State() != fabric.StateClosed {
		_ = q.qp.Close()
	}
	q.done, q.signaled = q.posted, q.posted
	qp, err := q.newQP()
	if err != nil {
		return err
	}
	q.qp, q.err = qp, nil
	return nil
}

// room reports whether n SENDs can be posted.
func (q *replyQP) room(n int) bool {
	if q.posted-q.done+uint64(n) <= q.depth {
		return true
	}
	q.reap()
	return q.posted-q.done+uint64(n) <= q.depth
}

// send sends n bytes at off of a region, and returns the number of the SEND; 0 when
// there is no room, which is like a datagram that was lost. One in a quarter of the
// queue is signaled, and those that ask for it.
func (q *replyQP) send(to fabric.AddressHandle, r *fabric.Region, off, n int, signaled bool) uint64 {
	if !q.room(1) {
		return 0
	}
	w := &q.one[0] // field by field: a literal would be made elsewhere and copied
	w.ID, w.Op, w.Flags = q.posted+1, fabric.OpSend, 0
	w.Local, w.To = r.Seg(off, n), to
	if n <= q.inline {
		w.Flags = fabric.FlagInline
	}
	if signaled || q.posted-q.signaled >= q.depth/4 {
		w.Flags |= fabric.FlagSignaled
	}
	if _, err := q.qp.Post(q.one[:]); err != nil {
		return 0
	}
	if q.posted++; w.Flags&fabric.FlagSignaled != 0 {
		q.signaled = q.posted
	}
	return q.posted
}

// reap takes completions.
func (q *replyQP) reap() {
	for {
		n := q.cq.Poll(q.comps[:])
		for i := range n {
			if q.comps[i].QPN != q.qp.Num() {
				continue // of one that was broken
			}
			if q.done = max(q.done, q.comps[i].ID); q.comps[i].Status != fabric.StatusOK && q.err == nil {
				q.err = fmt.Errorf("herd: UD queue pair on device %s: %w", q.registry.dev.Name(), q.comps[i].Err())
			}
		}
		if n < len(q.comps) {
			return
		}
	}
}

// complete reports whether SEND number n is known to be complete.
func (q *replyQP) complete(n uint64) bool {
	if n > q.done {
		q.reap()
	}
	return n <= q.done
}

func (q *replyQP) close() {
	if !q.closed {
		_ = q.qp.Close()
		_ = q.cq.Close()
		q.closed, q.done = true, q.posted
	}
}
