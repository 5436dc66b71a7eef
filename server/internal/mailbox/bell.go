package mailbox

import "sync/atomic"

// Bell wakes a door that waits for results of any of its boxes.
type Bell struct {
	asleep atomic.Bool
	ring   func()
}

// NewBell makes a bell. ring ends the sleep of the door, or the next one; it is called by
// cores, once for each sleep.
func NewBell(ring func()) *Bell { return &Bell{ring: ring} }

// Ring wakes the door if it sleeps.
func (b *Bell) Ring() {
	if b.asleep.Load() && b.asleep.CompareAndSwap(true, false) {
		b.ring()
	}
}

// Doze says that the door is about to sleep; it has to look at all boxes after it (M4).
func (b *Bell) Doze() { b.asleep.Store(true) }

// Undoze says that the door does not sleep any more.
func (b *Bell) Undoze() { b.asleep.Store(false) }
