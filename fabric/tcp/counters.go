package tcp

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/fence"
)

// stats are the counters of one queue pair. They are written under its lock
// and read by any goroutine.
type stats struct {
	out, in           [fabric.NumOps]atomic.Uint64
	outBytes, inBytes atomic.Uint64
	dropped, errors   atomic.Uint64
}

// sent counts an operation initiated here that was executed.
func (s *stats) sent(op fabric.Op, n uint32) {
	fence.Count(&s.out[op], 1)
	fence.Count(&s.outBytes, uint64(n))
}

// served counts an operation of the peer.
func (s *stats) served(op fabric.Op, n uint32) {
	fence.Count(&s.in[op], 1)
	fence.Count(&s.inBytes, uint64(n))
}

func (s *stats) snapshot() (c fabric.Counters) {
	for i := range c.Out {
		c.Out[i] = s.out[i].Load()
		c.In[i] = s.in[i].Load()
	}
	c.OutBytes, c.InBytes = s.outBytes.Load(), s.inBytes.Load()
	c.Dropped, c.Errors = s.dropped.Load(), s.errors.Load()
	return c
}

// Counters implements fabric.QP.
func (q *queues) Counters() fabric.Counters { return q.stats.snapshot() }

// Counters implements fabric.Device.
func (d *Device) Counters() fabric.Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.gone
	for _, q := range d.qps.all() {
		c := q.stats.snapshot()
		sum.Add(&c)
	}
	return sum
}

// Memory implements fabric.Device.
func (d *Device) Memory() []fabric.Usage {
	u := fabric.Usage{Purpose: "tcp buffers", Heap: true}
	for _, q := range d.qps.all() {
		q.mu.Lock()
		u.Bytes += int64(q.member.buffered())
		q.mu.Unlock()
		u.Blocks++
	}
	u.Bytes += int64(d.nic.lingering())
	u.Resident = u.Bytes
	reading := int64(len(d.nic.into) + len(d.nic.ports.all())*readSize)
	return append(base.Memory(d.arena), u,
		fabric.Usage{Purpose: "tcp read buffers", Blocks: 1, Bytes: reading, Resident: reading, Heap: true})
}

// buffered implements member.
func (q *conn) buffered() int {
	n := len(q.out.b)
	for i := range q.sends {
		n += cap(q.sends[i].data)
	}
	return n
}

// buffered implements member.
func (q *gram) buffered() int { return len(q.out) + len(q.in) }

// lingering returns how many bytes there are for what lingerers have to write.
func (n *nic) lingering() (sum int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.lingers {
		sum += len(l.rest.b)
	}
	return sum
}
