package base

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/remora-kv/remora/fabric"
)

// Places are the entries of a completion queue, as far as queue pairs have reserved them: every
// request and receive of a queue pair has room for its completion (G12). Its methods may be
// called from any goroutine.
type Places struct {
	depth int

	mu     sync.Mutex
	taken  int
	closed bool
}

// Init sets the depth of the queue, which a device bounds by its limits.
func (p *Places) Init(depth int, lim *fabric.Limits) error {
	if depth < 1 || depth > lim.MaxCQDepth {
		return fmt.Errorf("fabric: completion queue of %d entries, the device takes 1 to %d: %w",
			depth, lim.MaxCQDepth, fabric.ErrInvalid)
	}
	p.depth = depth
	return nil
}

// Depth implements fabric.CQ.
func (p *Places) Depth() int { return p.depth }

// Reserve reserves the places of a queue pair: its sends in p and its receives in recv, which may
// be the same queue. It reserves both or neither.
func (p *Places) Reserve(sends int, recv *Places, recvs int) error {
	if err := p.reserve(sends); err != nil {
		return err
	}
	if err := recv.reserve(recvs); err != nil {
		p.release(sends)
		return err
	}
	return nil
}

func (p *Places) reserve(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errCQClosed()
	case n > p.depth-p.taken:
		return fmt.Errorf("fabric: completion queue of %d entries, %d taken, the queue pair needs %d: %w",
			p.depth, p.taken, n, fabric.ErrCQTooSmall)
	}
	p.taken += n
	return nil
}

// Release undoes Reserve.
func (p *Places) Release(sends int, recv *Places, recvs int) {
	p.release(sends)
	recv.release(recvs)
}

func (p *Places) release(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
}

// Close is the first half of fabric.CQ.Close: it fails while queue pairs have places.
func (p *Places) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return errCQClosed()
	case p.taken != 0:
		return fmt.Errorf("fabric: completion queue has open queue pairs; close them first: %w", fabric.ErrBusy)
	}
	p.closed = true
	return nil
}

func errCQClosed() error { return fmt.Errorf("fabric: completion queue: %w", fabric.ErrClosed) }

// Discard removes from ring[head:tail], whose length is a power of two, the completions that gone
// names, and returns the new tail. Entries behind it are cleared.
func Discard[T any, N uint32 | uint64](ring []T, head, tail N, gone func(*T) bool) N {
	mask := N(len(ring) - 1)
	kept := head
	for i := head; i != tail; i++ {
		if e := &ring[i&mask]; !gone(e) {
			ring[kept&mask] = *e
			kept++
		}
	}
	var none T
	for i := kept; i != tail; i++ {
		ring[i&mask] = none
	}
	return kept
}

// CeilPow2 returns the smallest power of two that is at least n >= 1: the length of a ring with n
// entries.
func CeilPow2(n int) int { return 1 << bits.Len(uint(n-1)) }
