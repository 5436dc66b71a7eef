//go:build rdma

package verbs

import (
	"maps"
	"slices"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// stats are the counters that the owner counts; any goroutine may read them.
type stats struct {
	out        [fabric.NumOps]atomic.Uint64
	outBytes   atomic.Uint64
	sidedBytes atomic.Uint64 // of the one-sided ones
	recvs      atomic.Uint64 // messages
	imms       atomic.Uint64 // receives consumed by WRITE_IMM
	recvBytes  atomic.Uint64 // of messages
	handed     atomic.Uint64 // receives given to the adapter, on UC and UD
	overlong   atomic.Uint64 // datagrams dropped because they were too long
	dropped    atomic.Uint64 // own messages
	errors     atomic.Uint64
	// posted and known are of the send queue, where others have to know
	// whether requests are in flight (Quirks.SilentTarget).
	posted, known atomic.Uint64
}

// executed counts a request that succeeded.
func (q *QP) executed(s *sendSlot) {
	fence.Count(&q.stats.out[s.op], 1)
	fence.Count(&q.stats.outBytes, uint64(s.bytes))
	if s.op != fabric.OpSend {
		fence.Count(&q.stats.sidedBytes, uint64(s.bytes))
	}
}

// received counts what a receive took.
func (q *QP) received(c *fabric.Completion) {
	if c.HasImm {
		fence.Count(&q.stats.imms, 1)
		return
	}
	n := uint64(c.Bytes)
	if q.transport == fabric.UD {
		n -= fabric.GRHSize
	}
	fence.Count(&q.stats.recvs, 1)
	fence.Count(&q.stats.recvBytes, n)
}

// countPosted counts receives given to the adapter.
func (q *QP) countPosted(n int) {
	if q.transport != fabric.RC {
		fence.Count(&q.stats.handed, uint64(n))
	}
}

// counts returns what this end tells the other.
func (q *QP) counts() counts {
	var c counts
	for op := range c.ops {
		c.ops[op] = q.stats.out[op].Load()
	}
	c.bytes = q.stats.sidedBytes.Load()
	return c
}

// report takes what the other end tells. Counts never go back.
func (q *QP) report(c counts) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for op := range c.ops {
		q.reported.ops[op] = max(q.reported.ops[op], c.ops[op])
	}
	q.reported.bytes = max(q.reported.bytes, c.bytes)
	q.findDropped()
}

// findDropped compares what was sent with what could be received: messages
// beyond the receives that were ever posted have been dropped. Those that are
// missing otherwise may still come, and are not counted. q.mu is held.
func (q *QP) findDropped() {
	if q.transport == fabric.RC {
		return
	}
	sent := q.reported.ops[fabric.OpSend] + q.reported.ops[fabric.OpWriteImm]
	if taken := q.stats.handed.Load(); sent > taken {
		q.dropped = max(q.dropped, sent-taken)
	}
}

// Counters implements fabric.QP. What the peers have done is what they said when
// last asked; they are asked again, and the next call returns the answer.
func (q *QP) Counters() fabric.Counters {
	c := q.snapshot()
	q.ask()
	return c
}

// Counters implements fabric.Device. The peers of all queue pairs are asked as in
// QP.Counters, but not by the caller, who may have no time for many.
func (d *Device) Counters() fabric.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.past
	qps := slices.Collect(maps.Values(d.qps))
	for _, q := range qps {
		c := q.snapshot()
		sum.Add(&c)
	}
	if !d.closed && !d.asking {
		d.asking = true
		go func() {
			for _, q := range qps {
				q.ask()
			}
			d.mu.Lock()
			d.asking = false
			d.mu.Unlock()
		}()
	}
	return sum
}

// ask asks the peers what they have done to this queue pair.
func (q *QP) ask() {
	q.mu.Lock()
	l, over := q.control, q.final != nil
	q.mu.Unlock()
	switch {
	case over:
	case l != nil:
		l.ask()
	case q.transport == fabric.UD:
		q.askSenders()
	}
}

// snapshot returns what is known.
func (q *QP) snapshot() fabric.Counters {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.final != nil {
		return *q.final
	}
	s := &q.stats
	c := fabric.Counters{
		OutBytes: s.outBytes.Load(), InBytes: s.recvBytes.Load() + q.reported.bytes,
		Dropped: s.dropped.Load() + max(q.dropped, s.overlong.Load()), Errors: s.errors.Load(),
	}
	for op := range c.Out {
		c.Out[op] = s.out[op].Load()
	}
	for op := fabric.OpWrite; op < fabric.NumOps; op++ {
		c.In[op] = q.reported.ops[op]
	}
	c.In[fabric.OpRecv] = s.recvs.Load()
	return c
}
