package tcp

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
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
	base.Places
	dev  *Device
	port *port
	// others are ports of other completion queues with queue pairs that
	// complete their sends here.
	others atomic.Pointer[[]*port]
	// sleeper is the waiter that is asleep, or about to be, on this queue.
	sleeper atomic.Pointer[waiter]
	// count is tail minus head, readable without the lock.
	count atomic.Uint32

	mu         sync.Mutex // guards the rest; taken after the lock of a queue pair
	ring       []entry
	head, tail uint32
}

// NewCQ implements fabric.Device.
func (d *Device) NewCQ(depth int) (fabric.CQ, error) {
	c := &cq{dev: d}
	if err := c.Init(depth, &d.limits); err != nil {
		return nil, err
	}
	var err error
	if c.port, err = d.nic.newPort(); err != nil {
		return nil, fmt.Errorf("fabric: completion queue: %w", err)
	}
	c.ring = make([]entry, base.CeilPow2(depth))
	return c, nil
}

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

// wake ends the sleep of the waiter of this queue.
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
	c.tail = base.Discard(c.ring, c.head, c.tail, func(e *entry) bool { return e.q == q })
	c.count.Store(c.tail - c.head)
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
	if err := c.Places.Close(); err != nil {
		return err
	}
	c.port.close()
	return nil
}
