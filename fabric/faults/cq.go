package faults

import (
	"math"
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
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
	base.Places
	inner fabric.CQ
	dev   *Device

	// What follows belongs to the owner (T1).
	items      []item // a ring
	head, tail uint64
	scratch    []fabric.Completion
	busy       []*queuePair // those that hold messages
}

// NewCQ implements fabric.Device.
func (d *Device) NewCQ(depth int) (fabric.CQ, error) {
	c := &cq{dev: d, scratch: make([]fabric.Completion, 32)}
	if err := c.Init(depth, &d.limits); err != nil {
		return nil, err
	}
	room := max(d.plan.room(fabric.RC), d.plan.room(fabric.UC), d.plan.room(fabric.UD))
	c.items = make([]item, base.CeilPow2(depth))
	var err error
	if c.inner, err = d.Device.NewCQ(min(room*depth, d.limits.MaxCQDepth)); err != nil {
		return nil, err
	}
	return c, nil
}

// Close implements fabric.CQ.
func (c *cq) Close() error {
	if err := c.Places.Close(); err != nil {
		return err
	}
	return c.inner.Close()
}

// Poll implements fabric.CQ.
func (c *cq) Poll(out []fabric.Completion) int {
	c.progress()
	for more := true; more && c.tail-c.head < uint64(len(out)); {
		n := c.inner.Poll(c.scratch)
		for i := range c.scratch[:n] {
			c.sort(&c.scratch[i])
		}
		more = n == len(c.scratch)
	}
	n := 0
	for ; n < len(out) && c.head != c.tail; n++ {
		it := c.at(c.head)
		out[n] = it.c
		if it.q != nil {
			it.q.head = it.seq + 1 // F4
			it.q = nil
		}
		c.head++
	}
	return n
}

// sort deals with one completion of the inner queue.
func (c *cq) sort(done *fabric.Completion) {
	if done.Op == fabric.OpRecv {
		c.push(item{c: *done})
	} else if q := c.dev.find(done.QPN); q != nil {
		q.completed(done)
	}
}

func (c *cq) at(i uint64) *item { return &c.items[i&uint64(len(c.items)-1)] }

// push appends a completion; there is room, because it was reserved.
func (c *cq) push(it item) {
	*c.at(c.tail) = it
	c.tail++
}

// leave forgets a queue pair and discards its completions.
func (c *cq) leave(q *queuePair) {
	c.busy = slices.DeleteFunc(c.busy, func(b *queuePair) bool { return b == q })
	c.tail = base.Discard(c.items, c.head, c.tail, func(it *item) bool { return it.c.QPN == q.Num() })
}

// hold lists a queue pair that has messages to be moved on.
func (c *cq) hold(q *queuePair) {
	if !slices.Contains(c.busy, q) {
		c.busy = append(c.busy, q)
	}
}

// progress sends what was held long enough.
func (c *cq) progress() {
	if len(c.busy) == 0 {
		return
	}
	now := c.dev.clock.Now()
	c.busy = slices.DeleteFunc(c.busy, func(q *queuePair) bool {
		q.copies.release(now)
		return len(q.copies.held) == 0
	})
}

// never is a moment that does not come.
const never = math.MaxInt64

// next returns when the first held message is due.
func (c *cq) next() int64 {
	at := int64(never)
	for _, q := range c.busy {
		for _, i := range q.copies.held {
			at = min(at, q.copies.slots[i].due)
		}
	}
	return at
}
