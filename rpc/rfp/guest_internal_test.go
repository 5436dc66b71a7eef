package rfp

import (
	"testing"

	"github.com/remora-kv/remora/fabric/loop"
)

// busyGuest has work whenever it is looked at.
type busyGuest struct {
	Guest
	looks int
}

func (g *busyGuest) Step() bool { g.looks++; return true }

// idleGuest never has.
type idleGuest struct {
	Guest
	looks   int
	clients bool
}

func (g *idleGuest) Step() bool  { g.looks++; return false }
func (g *idleGuest) Empty() bool { return !g.clients }
func (g *idleGuest) Doze()       {}

// guestCore is a core without sessions.
func guestCore(t *testing.T, g Guest) *core {
	t.Helper()
	dev, err := loop.NewNetwork().NewDevice("core")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	cq, err := dev.NewCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cq.Close() })
	return &core{guests: party{g}, clock: dev.Clock(), ports: []*port{{dev: dev, cq: cq}}, server: &Server{}}
}

// Guests without clients who had no work for long are looked at seldom, and still when a core is about to
// sleep: what they were given meanwhile wakes nobody.
func TestGuestsAreLookedAtBeforeSleep(t *testing.T) {
	g := &idleGuest{}
	c := guestCore(t, g)
	for range 100 * aloneAfter {
		c.step()
	}
	if most := aloneAfter + 100*aloneAfter/lookEvery; g.looks > most || g.looks < aloneAfter {
		t.Errorf("%d looks at a guest without work, want %d at most", g.looks, most)
	}
	for range 2 * lookEvery { // whatever the sweep
		before := g.looks
		c.doze()
		c.poll()
		if g.looks == before {
			t.Fatal("no look at the guest after the core has said that it sleeps")
		}
		for range aloneAfter + 1 {
			c.step()
		}
	}
}

// A guest with clients is looked at in every sweep, whether or not they ask for something.
func TestGuestsWithClientsAreLookedAt(t *testing.T) {
	g := &idleGuest{clients: true}
	c := guestCore(t, g)
	for range 10 * aloneAfter {
		c.step()
	}
	if g.looks != 10*aloneAfter {
		t.Errorf("%d looks in %d sweeps", g.looks, 10*aloneAfter)
	}
}

// A guest with work is looked at in every sweep.
func TestGuestsWithWorkAreLookedAt(t *testing.T) {
	g := &busyGuest{}
	c := guestCore(t, g)
	for range 10 * aloneAfter {
		if !c.step() {
			t.Fatal("the guest had work, the core says that there was none")
		}
	}
	if g.looks != 10*aloneAfter {
		t.Errorf("%d looks in %d sweeps", g.looks, 10*aloneAfter)
	}
}
