package verbs

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// Completion identifiers: the lane in the upper half, the place in the ring in
// the lower one. Bells have places of their own.
func idOf(lane, place int) uint64 { return uint64(lane)<<32 | uint64(uint32(place)) }

func laneOf(id uint64) int  { return int(id >> 32) }
func placeOf(id uint64) int { return int(uint32(id)) }

// sendRing is the send side of a lane: work requests built once, posted in
// chains, round and round. Nothing in them changes on the data path.
type sendRing struct {
	qp           fabric.QP
	wrs          []fabric.WR // the ring, then its beginning again: no chain wraps
	ring, every  int
	next, tail   int    // places: of the next post, behind the last one known done
	posted, done uint64 // requests ever
}

// newSendRing builds s.ring requests for qp by build, which fills in all but ID and
// signaling. A chain has at most batch requests.
func newSendRing(l *lane, qp fabric.QP, s shape, batch int, build func(place int) fabric.WR) sendRing {
	r := sendRing{qp: qp, ring: s.ring, every: s.every, wrs: make([]fabric.WR, s.ring+batch)}
	for i := range r.wrs {
		place := i % s.ring
		w := build(place)
		w.ID = idOf(l.index, place)
		if (place+1)%s.every == 0 {
			w.Flags |= fabric.FlagSignaled
		}
		r.wrs[i] = w
	}
	return r
}

// pending is how many requests are not known to be done.
func (r *sendRing) pending() int { return int(r.posted - r.done) }

// post posts the next n requests as one chain.
func (r *sendRing) post(n int) error {
	if k, err := r.qp.Post(r.wrs[r.next : r.next+n]); k != n {
		return refused(k, n, err)
	}
	r.next += n
	if r.next >= r.ring {
		r.next -= r.ring
	}
	r.posted += uint64(n)
	return nil
}

// postSignaled posts the next request with a completion, whatever its turn.
func (r *sendRing) postSignaled() error {
	last := r.wrs[r.next]
	last.Flags |= fabric.FlagSignaled
	if k, err := r.qp.Post([]fabric.WR{last}); k != 1 {
		return refused(k, 1, err)
	}
	if r.next++; r.next == r.ring {
		r.next = 0
	}
	r.posted++
	return nil
}

// unsignaledTail reports whether the last request posted will not report.
func (r *sendRing) unsignaledTail() bool {
	return r.posted != r.done && r.next%r.every != 0
}

// reclaim takes the completion at a place and returns how many requests are
// done by it (G10).
func (r *sendRing) reclaim(place int) int {
	n := place + 1 - r.tail
	if n <= 0 {
		n += r.ring
	}
	if r.tail = place + 1; r.tail == r.ring {
		r.tail = 0
	}
	r.done += uint64(n)
	return n
}

// recvRing is the receive side of a lane: receives posted again in chains.
// They complete in the order they were posted (G1).
type recvRing struct {
	qp   fabric.QP
	wrs  []fabric.RecvWR
	ring int
	next int // place of the next post
}

func newRecvRing(l *lane, qp fabric.QP, n int, build func(place int) fabric.RecvWR) recvRing {
	r := recvRing{qp: qp, ring: n, wrs: make([]fabric.RecvWR, 2*n)}
	for i := range r.wrs {
		w := build(i % n)
		w.ID = idOf(l.index, i%n)
		r.wrs[i] = w
	}
	return r
}

// post posts the next n receives as one chain.
func (r *recvRing) post(n int) error {
	if k, err := r.qp.PostRecv(r.wrs[r.next : r.next+n]); k != n {
		return refused(k, n, err)
	}
	r.next += n
	if r.next >= r.ring {
		r.next -= r.ring
	}
	return nil
}

// refused explains a post that did not take everything.
func refused(k, n int, err error) error {
	if err == nil {
		err = errors.New("no reason given")
	}
	return fmt.Errorf("posting: %d of %d requests were taken: %w", k, n, err)
}
