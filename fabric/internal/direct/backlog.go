package direct

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// late is a request that could not execute when it was posted.
type late struct {
	wr     fabric.WR
	more   []fabric.Seg
	inline []byte // its data, when taken at Post (G14)
	buf    []byte
	sent   int // bytes of a message that have gone out
	retire uint64
}

// backlog holds the requests behind the first that could not execute (I6).
// Its memory is made at the first need and kept.
type backlog struct {
	slots      []late
	head, tail uint64
	// since is when the first began to wait for a receive; 0 when it does not.
	since int64
}

func (b *backlog) len() int          { return int(b.tail - b.head) }
func (b *backlog) at(i uint64) *late { return &b.slots[i&uint64(len(b.slots)-1)] }
func (b *backlog) first() *late      { return b.at(b.head) }
func (b *backlog) pop()              { b.head++; b.since = 0 }

// putOff appends a request of which sent bytes have gone out.
func (q *QP) putOff(w *fabric.WR, sent int) {
	b := &q.backlog
	if b.slots == nil {
		b.slots = make([]late, base.CeilPow2(int(q.sendDepth)))
	}
	l := b.at(b.tail)
	b.tail++
	q.sendPosted++
	l.wr, l.sent, l.retire, l.inline = *w, sent, q.sendPosted, nil
	l.more = append(l.more[:0], w.More...)
	l.wr.More = l.more
	if w.Flags&fabric.FlagInline != 0 {
		n := w.Bytes()
		l.buf = slices.Grow(l.buf[:0], n)[:n]
		base.Gather(l.buf, &w.Local, w.More, 0)
		l.inline = l.buf
	}
	if !q.inBacklog {
		q.inBacklog = true
		q.send.grown++
		q.send.backlogged = append(q.send.backlogged, q)
	}
}

// retry executes the backlog as far as it goes.
func (q *QP) retry() {
	b := &q.backlog
	for b.len() != 0 && !q.settled {
		l := b.first()
		res := q.execute(&l.wr, l.inline, &l.sent)
		if res == stalled {
			if !q.rnrOver() {
				break
			}
			res = outcome(fabric.StatusRNRExceeded)
		}
		b.pop()
		q.completeSend(&l.wr, fabric.Status(res), l.retire)
	}
	q.publish()
}

// rnrOver reports whether the first request of the backlog has waited for a
// receive of the peer as long as it may.
func (q *QP) rnrOver() bool {
	deadline, ok := q.rnrDeadline()
	return ok && q.core.clock.Now() >= deadline
}

// rnrDeadline returns when the request that waits for a receive fails.
func (q *QP) rnrDeadline() (at int64, ok bool) {
	if q.rnr == fabric.RNRForever || q.backlog.len() == 0 || !q.waitsForReceive() {
		q.backlog.since = 0
		return 0, false
	}
	if q.backlog.since == 0 {
		q.backlog.since = max(1, q.core.clock.Now())
	}
	return base.After(q.backlog.since, q.rnr), true
}

func (q *QP) waitsForReceive() bool {
	l := q.backlog.first()
	if l.wr.Op != fabric.OpSend && l.wr.Op != fabric.OpWriteImm || l.sent != 0 || q.asked != 0 {
		return false
	}
	_, has, ok := q.out.credit()
	return ok && !has
}

// flushBacklog completes the requests not executed: the oldest with the given
// status, the others as flushed.
func (q *QP) flushBacklog(first fabric.Status) {
	b := &q.backlog
	for b.len() != 0 {
		l := b.first()
		b.pop()
		q.send.push(q, l.retire, l.wr.ID, l.wr.Op, first, 0)
		if first != fabric.StatusFlushed {
			q.stats.errors.Add(1)
		}
		first = fabric.StatusFlushed
	}
}

func (c *CQ) unbacklog(q *QP) {
	if i := slices.Index(c.backlogged, q); i >= 0 {
		c.backlogged = slices.Delete(c.backlogged, i, i+1)
	}
	q.inBacklog = false
}
