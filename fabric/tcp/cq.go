//go:build linux

package tcp

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// entry is a completion, and what polling it frees: the places before upto in
// the send or receive queue of q.
type entry struct {
	c    fabric.Completion
	q    *queues
	upto uint32
}

// cq implements fabric.CQ.
type cq struct {
	dev   *Device
	depth int
	port  *port
	// others are ports of other completion queues with queue pairs that
	// complete their sends here.
	others atomic.Pointer[[]*port]
	// count is tail minus head, readable without the lock.
	count atomic.Uint32
	// sleeper is the waiter that is asleep, or about to be, on this queue.
	sleeper atomic.Pointer[waiter]

	mu         sync.Mutex // guards the rest; taken after the lock of a queue pair
	ring       []entry
	head, tail uint32
	reserved   int
	closed     bool
}

// NewCQ implements fabric.Device.
func (d *Device) NewCQ(depth int) (fabric.CQ, error) {
	if depth < 1 || depth > d.limits.MaxCQDepth {
		return nil, fmt.Errorf("fabric: completion queue of %d entries, the device takes 1 to %d: %w",
			depth, d.limits.MaxCQDepth, fabric.ErrInvalid)
	}
	p, err := d.nic.newPort()
	if err != nil {
		return nil, fmt.Errorf("fabric: completion queue: %w", err)
	}
	return &cq{dev: d, depth: depth, port: p, ring: make([]entry, ceilPow2(depth))}, nil
}

// Depth implements fabric.CQ.
func (c *cq) Depth() int { return c.depth }

// push appends a completion; there is room, because it was reserved (G12).
// loud says that a waiter with SolicitedOnly is woken too.
func (c *cq) push(e *entry, loud bool) {
	c.mu.Lock()
	c.ring[c.tail&uint32(len(c.ring)-1)] = *e
	c.tail++
	c.count.Store(c.tail - c.head)
	c.mu.Unlock()
	// The count was stored before the sleeper is looked at; the sleeper says
	// that it sleeps before it looks at the count. One sees the other (G17).
	if w := c.sleeper.Load(); w != nil && (loud || !w.solicitedOnly) {
		c.dev.nic.wakes.Add(1)
		w.signal()
	}
}

// wake ends the sleep of whoever sleeps on this queue.
func (c *cq) wake() {
	if w := c.sleeper.Load(); w != nil {
		c.dev.nic.wakes.Add(1)
		w.signal()
	}
}

// take moves completions into out and frees what they held.
func (c *cq) take(out []fabric.Completion) int {
	if c.count.Load() == 0 {
		return 0
	}
	c.mu.Lock()
	n := min(uint32(len(out)), c.tail-c.head)
	for i := range n {
		e := &c.ring[c.head&uint32(len(c.ring)-1)]
		out[i] = e.c
		if e.c.Op == fabric.OpRecv {
			e.q.recvFreed = e.upto
		} else {
			e.q.sendFreed = e.upto
		}
		e.q = nil // the ring is long: it must not keep queue pairs that are closed
		c.head++
	}
	c.count.Store(c.tail - c.head)
	c.mu.Unlock()
	return int(n)
}

// discard removes the completions of a queue pair that is being closed.
func (c *cq) discard(q *queues) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mask := uint32(len(c.ring) - 1)
	kept := c.head
	for i := c.head; i != c.tail; i++ {
		if e := c.ring[i&mask]; e.q != q {
			c.ring[kept&mask] = e
			kept++
		}
	}
	for i := kept; i != c.tail; i++ {
		c.ring[i&mask].q = nil
	}
	c.tail = kept
	c.count.Store(c.tail - c.head)
}

// reserve makes sure of room for n completions (G12).
func (c *cq) reserve(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fmt.Errorf("fabric: completion queue: %w", fabric.ErrClosed)
	case n > c.depth-c.reserved:
		return fmt.Errorf("fabric: completion queue of %d entries, %d taken, the queue pair needs %d: %w",
			c.depth, c.reserved, n, fabric.ErrCQTooSmall)
	}
	c.reserved += n
	return nil
}

func (c *cq) release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= n
}

// follow makes Poll drive the port of another queue as well.
func (c *cq) follow(p *port) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []*port
	if old := c.others.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if p != c.port && !slices.Contains(list, p) {
		list = append(list, p)
		c.others.Store(&list)
	}
}

// Close implements fabric.CQ.
func (c *cq) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return fmt.Errorf("fabric: completion queue: %w", fabric.ErrClosed)
	case c.reserved != 0:
		return fmt.Errorf("fabric: completion queue has open queue pairs; close them first: %w", fabric.ErrBusy)
	}
	c.closed = true
	c.port.close()
	return nil
}
