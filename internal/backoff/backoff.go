// Package backoff has the pauses between attempts to connect: each about twice as long as
// the one before, shortened by chance, so that clients of one server do not come at once.
//
// It is a package of its own because its users have no other package in common: the clients of
// the cache and of items with links, and the watch of a database in kvl/load.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pauses are pauses that become longer. They belong to one goroutine.
type Pauses struct{ first, next, most time.Duration }

// New returns pauses from the first to the longest.
func New(first, most time.Duration) Pauses { return Pauses{first, first, most} }

// Most returns the longest.
func (p *Pauses) Most() time.Duration { return p.most }

// Reset begins with the first again.
func (p *Pauses) Reset() { p.next = p.first }

// Take returns the next pause.
func (p *Pauses) Take() time.Duration {
	d := p.next
	p.next = min(2*d, p.most)
	return d - rand.N(d/2+1)
}

// Wait takes the next pause and waits as long; false when ctx or over ends it.
func (p *Pauses) Wait(ctx context.Context, over <-chan struct{}) bool {
	timer := time.NewTimer(p.Take())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
