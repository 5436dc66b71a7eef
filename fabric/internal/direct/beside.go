package direct

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
)

// places is what the owner of a completion queue knows of where it and its peers run. Each end says in
// the rings that it shares with a peer where it runs: when it waits in vain, when it has slept,
// and when it wakes the peer. It is a hint, which a hostile peer can only use to have the
// CPU yielded to others.
type places struct {
	here affinity.Place // the owner, at its last look
	met  affinity.Place // a receiver of datagrams that was on the same CPU
	near int            // the source whose peer was, when the owner last looked
	next int            // the source that is looked at next
}

// besideLooks is at how many sources a look looks, in turn, behind the one that was near.
const besideLooks = 8

// Beside implements base.Peers.
func (w *Waiter) Beside() bool {
	here, beside := affinity.Here(), false
	for _, c := range w.cqs {
		c.here = here
		beside = c.beside(here) || beside
	}
	return beside
}

// Yield implements base.Peers.
func (w *Waiter) Yield() { w.provider.Yield() }

func (c *CQ) beside(here affinity.Place) bool {
	found := here.With(c.met) || c.near < len(c.listening) && c.listening[c.near].beside(here)
	for range min(besideLooks, len(c.listening)) {
		if c.next++; c.next >= len(c.listening) {
			c.next = 0
		}
		if c.listening[c.next].beside(here) {
			c.near, found = c.next, true
		}
	}
	return found
}

// beside tells the peer of a source where this end runs, and reports whether the peer was there, too.
func (s *source) beside(here affinity.Place) bool {
	s.tell(here)
	if s.qp.transport == fabric.UD {
		return here.With(affinity.Place(s.h.giver.Load()))
	}
	return here.With(affinity.Place(s.qp.out.h.taker.Load()))
}

// tell tells the peer of a source where this end runs.
func (s *source) tell(here affinity.Place) { tell(&s.h.taker, here) }

// meet is called with the ring of a datagram that is sent: nobody keeps a list of the receivers.
func (c *CQ) meet(h *ringHeader) {
	if tell(&h.giver, c.here); c.here.With(affinity.Place(h.taker.Load())) {
		c.met = c.here
	}
}

func tell(word *atomic.Uint32, here affinity.Place) {
	if word.Load() != uint32(here) {
		word.Store(uint32(here))
	}
}
