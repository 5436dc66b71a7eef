package direct

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// stats are the counters of one queue pair that no peer can write. The owner
// counts, any goroutine reads.
type stats struct {
	out              [fabric.NumOps]atomic.Uint64
	outBytes         atomic.Uint64
	recvs, recvBytes atomic.Uint64
	dropped, errors  atomic.Uint64
}

// executed counts n out-bound operations of bytes in all.
func (q *QP) executed(op fabric.Op, n, bytes int) {
	fence.Count(&q.stats.out[op], uint64(n))
	fence.Count(&q.stats.outBytes, uint64(bytes))
}

// Counters implements fabric.QP.
func (q *QP) Counters() fabric.Counters {
	s := &q.stats
	c := fabric.Counters{OutBytes: s.outBytes.Load(), Dropped: s.dropped.Load(), Errors: s.errors.Load()}
	for op := range c.Out {
		c.Out[op] = s.out[op].Load()
	}
	c.In[fabric.OpRecv] = s.recvs.Load()
	c.InBytes = s.recvBytes.Load()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.final != nil {
		return *q.final
	}
	if q.shared {
		// One-sided operations are known to their initiator alone, which
		// counts them in the ring.
		for op := fabric.OpWrite; op < fabric.NumOps; op++ {
			c.In[op] = q.in.h.ops[op].Load()
		}
		c.InBytes += q.in.h.bytes.Load()
	}
	return c
}
