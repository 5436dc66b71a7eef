package faults

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// item is a completion that the program has not polled yet.
type item struct {
	c fabric.Completion
	// q and seq are what its polling frees: the places in the send queue of q
	// up to seq. q is nil for receives.
	q   *queuePair
	seq uint64
}

// cq is a completion queue.
type cq struct {
	inner fabric.CQ
	dev   *Device
	depth int

	// What follows belongs to the owner (T1).
	items      []item // a ring, which grows up to depth
	head, tail uint64
	scratch    []fabric.Completion
	qps        map[uint32]*queuePair // by number
	busy       []*queuePair          // those that hold messages

	fresh    atomic.Bool // joined is not empty
	mu       sync.Mutex  // guards what follows
	joined   []*queuePair
	reserved int
}

// NewCQ implements fabric.Device.
func (d *Device) NewCQ(depth int) (fabric.CQ, error) {
	inside := depth
	if d.roomy && depth > 0 && depth <= d.limits.MaxCQDepth {
		inside = min(2*depth, d.limits.MaxCQDepth)
	}
	inner, err := d.Device.NewCQ(inside)
	if err != nil {
		return nil, err
	}
	if !d.roomy {
		depth = inner.Depth()
	}
	return &cq{
		inner: inner, dev: d, depth: depth, items: make([]item, pow2(min(depth, 1024))),
		scratch: make([]fabric.Completion, 32), qps: map[uint32]*queuePair{},
	}, nil
}

// pow2 returns the smallest power of two that is not below n.
func pow2(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// Depth implements fabric.CQ.
func (c *cq) Depth() int { return c.depth }

// Close implements fabric.CQ.
func (c *cq) Close() error { return c.inner.Close() }

// reserve makes sure of room in the completion queues of a queue pair. The
// inner device does it as well, but its queues may be larger than ours.
func reserve(send, recv *cq, sendDepth, recvDepth int) error {
	if err := send.reserve(sendDepth); err != nil {
		return err
	}
	if err := recv.reserve(recvDepth); err != nil {
		send.unreserve(sendDepth)
		return err
	}
	return nil
}

func unreserve(send, recv *cq, sendDepth, recvDepth int) {
	send.unreserve(sendDepth)
	recv.unreserve(recvDepth)
}

func (c *cq) reserve(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reserved+n > c.depth {
		return fmt.Errorf("faults: completion queue of %d entries, %d taken, the queue pair needs %d: %w",
			c.depth, c.reserved, n, fabric.ErrCQTooSmall)
	}
	c.reserved += n
	return nil
}

func (c *cq) unreserve(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= n
}

// join makes a queue pair known, from any goroutine (T3).
func (c *cq) join(q *queuePair) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joined = append(c.joined, q)
	c.fresh.Store(true)
}

// adopt takes over those that joined.
func (c *cq) adopt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.joined {
		c.qps[q.num] = q
	}
	clear(c.joined)
	c.joined = c.joined[:0]
	c.fresh.Store(false)
}

// leave forgets a queue pair and discards its completions.
func (c *cq) leave(q *queuePair) {
	c.adopt()
	delete(c.qps, q.num)
	if i := slices.Index(c.busy, q); i >= 0 {
		c.busy = slices.Delete(c.busy, i, i+1)
	}
	keep := c.head
	for i := c.head; i != c.tail; i++ {
		if it := *c.at(i); it.c.QPN != q.num {
			*c.at(keep) = it
			keep++
		}
	}
	c.tail = keep
}

func (c *cq) at(i uint64) *item { return &c.items[i&uint64(len(c.items)-1)] }

// push appends a completion.
func (c *cq) push(it item) {
	if c.tail-c.head == uint64(len(c.items)) {
		c.grow()
	}
	*c.at(c.tail) = it
	c.tail++
}

func (c *cq) grow() {
	items := make([]item, 2*len(c.items))
	n := uint64(0)
	for i := c.head; i != c.tail; i++ {
		items[n] = *c.at(i)
		n++
	}
	c.items, c.head, c.tail = items, 0, n
}

// hold lists a queue pair that has messages to be moved on.
func (c *cq) hold(q *queuePair) {
	if !slices.Contains(c.busy, q) {
		c.busy = append(c.busy, q)
	}
}

// progress moves on what is held.
func (c *cq) progress(now int64) {
	keep := c.busy[:0]
	for _, q := range c.busy {
		q.copies.release(now)
		q.retire()
		if q.holding() {
			keep = append(keep, q)
		}
	}
	clear(c.busy[len(keep):])
	c.busy = keep
}

// never is a moment that does not come.
const never = math.MaxInt64

// next returns the first moment after now at which there is something to do.
func (c *cq) next(now int64) int64 {
	at := int64(never)
	for _, q := range c.busy {
		at = min(at, q.copies.next(now))
	}
	return at
}
