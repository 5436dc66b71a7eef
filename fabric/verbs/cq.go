//go:build rdma

package verbs

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// CQ is a completion queue.
type CQ struct {
	base.Places
	dev     *Device
	hw      hwQueue
	staging *staging

	// members are the queue pairs that use the queue, by the low bits of their
	// tags (I1). A queue pair that joins stores, the owner loads; the array is replaced when
	// it is too small.
	members atomic.Pointer[[]atomic.Pointer[member]]

	// The next belong to the owner. stash are completions that had to leave
	// the adapter's queue before they were asked for, and after them come those
	// of the staging area from ahead to aheadEnd, which Post took along; soft are those
	// that the adapter did not make, late are queue pairs with receives to be
	// flushed here (I5), timed those whose wait for receives ends here.
	stash []workCompletion
	soft  []softDone
	late  []*QP
	timed []*QP
	gone  bool

	ahead, aheadEnd int

	base.Notes

	mu       sync.Mutex
	free     []uint32 // places among the members, the one that is free longest first
	uses     []uint32 // how often each place was taken
	released bool
}

// member is a queue pair and its tag.
type member struct {
	q   *QP
	tag uint32
}

// softDone is the completion of a request that the adapter forgot.
type softDone struct {
	q    *QP
	slot uint64
}

func noMembers() *[]atomic.Pointer[member] { return new([]atomic.Pointer[member]) }

// placeBits are the bits of a tag that are its place among the members.
const placeBits = 16

// NewCQ implements fabric.Device.
func (d *Device) NewCQ(depth int) (fabric.CQ, error) {
	c := &CQ{dev: d}
	if err := c.Init(depth, &d.lim); err != nil {
		return nil, err
	}
	c.members.Store(noMembers())
	var err error
	if c.Pipe, err = base.NewWakePipe(); err != nil {
		return nil, err
	}
	if c.staging, err = newStaging(d.arena, d.lim.MaxSegs); err == nil {
		if err = c.open(); err == nil {
			return c, nil
		}
		_ = c.staging.free()
	}
	c.Pipe.Close()
	return nil, err
}

// open makes the adapter's part.
func (c *CQ) open() error {
	d := c.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.errClosed()
	}
	var err error
	if c.hw, err = d.adapter.Load().ctx.newCQ(c.Depth(), d.vector()); err != nil {
		return fmt.Errorf("fabric: completion queue of %d entries: %w", c.Depth(), err)
	}
	d.cqs[c] = struct{}{}
	return nil
}

// vector returns the completion vector of the next completion queue. d.mu is held.
func (d *Device) vector() int {
	d.madeCQs++
	return d.adapter.Load().tuning.Vector.Or((d.madeCQs - 1) % d.adapter.Load().vectors)
}

// Close implements fabric.CQ.
func (c *CQ) Close() error {
	if err := c.Places.Close(); err != nil {
		return err
	}
	return c.release()
}

// release frees what the adapter holds. It is called by Close or, when the
// owner has stopped, by Device.Close.
func (c *CQ) release() error {
	c.mu.Lock()
	if c.released {
		c.mu.Unlock()
		return nil
	}
	if err := c.hw.close(); err != nil {
		c.mu.Unlock()
		return fmt.Errorf("fabric: completion queue: %w", err)
	}
	c.released, c.gone = true, true
	c.mu.Unlock()
	c.CloseNotes()
	c.dev.mu.Lock()
	delete(c.dev.cqs, c)
	c.dev.mu.Unlock()
	return c.staging.free()
}

// join gives a queue pair a place and returns its tag.
func (c *CQ) join(q *QP) (uint32, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.free) < 4 {
		if err := c.grow(); err != nil && len(c.free) == 0 {
			return 0, err
		}
	}
	place := c.free[0]
	c.free = slices.Delete(c.free, 0, 1)
	c.uses[place]++
	tag := place | c.uses[place]<<placeBits
	(*c.members.Load())[place].Store(&member{q: q, tag: tag})
	return tag, nil
}

// grow makes more places. Members keep theirs.
func (c *CQ) grow() error {
	old := *c.members.Load()
	n := max(2*len(old), 16)
	if n > 1<<placeBits {
		return fmt.Errorf("fabric: completion queue with %d queue pairs takes no more: %w", len(old), fabric.ErrInvalid)
	}
	members := make([]atomic.Pointer[member], n)
	for i := range old {
		members[i].Store(old[i].Load())
	}
	for i := len(old); i < n; i++ {
		c.free = append(c.free, uint32(i))
	}
	c.uses = append(c.uses, make([]uint32, n-len(old))...)
	c.members.Store(&members)
	return nil
}

// leave takes the place back; completions with the tag are dropped from now on.
func (c *CQ) leave(tag uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place := tag & (1<<placeBits - 1)
	(*c.members.Load())[place].Store(nil)
	c.free = append(c.free, place)
}

// find returns the queue pair with a tag, or nil.
func (c *CQ) find(tag uint32) *QP {
	members := *c.members.Load()
	place := tag & (1<<placeBits - 1)
	if int(place) >= len(members) {
		return nil
	}
	s := members[place].Load()
	if s == nil || s.tag != tag {
		return nil
	}
	return s.q
}
