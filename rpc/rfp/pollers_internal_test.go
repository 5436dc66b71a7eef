package rfp

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// busyPoller has work whenever it is looked at.
type busyPoller struct {
	rpc.Poller
	looks int
}

func (g *busyPoller) Step() bool { g.looks++; return true }

// idlePoller never has.
type idlePoller struct {
	rpc.Poller
	looks   int
	clients bool
}

func (g *idlePoller) Step() bool   { g.looks++; return false }
func (g *idlePoller) Flush() bool  { return false }
func (g *idlePoller) Empty() bool  { return !g.clients }
func (g *idlePoller) BeforeSleep() {}

// hostCore is a core without sessions.
func hostCore(t *testing.T, g rpc.Poller) *core {
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
	c := &core{pollers: pollers{g}, ports: []*port{{Port: serving.Port{Dev: dev, CQ: cq}}}, server: &Server{}}
	c.Clock = dev.Clock()
	w, err := dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{cq}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	c.Waiter = w
	return c
}

// Pollers without clients who had no work for long are looked at seldom, and still when a core is about to
// sleep: what they were given meanwhile wakes nobody.
func TestPollersAreLookedAtBeforeSleep(t *testing.T) {
	g := &idlePoller{}
	c := hostCore(t, g)
	for range 100 * aloneAfter {
		c.step()
	}
	if most := aloneAfter + 100*aloneAfter/serving.LookEvery; g.looks > most || g.looks < aloneAfter {
		t.Errorf("%d looks at a poller without work, want %d at most", g.looks, most)
	}
	for range 2 * serving.LookEvery { // whatever the sweep
		before := g.looks
		c.beforeSleep()
		c.poll()
		if g.looks == before {
			t.Fatal("no look at the poller after the core has said that it sleeps")
		}
		for range aloneAfter + 1 {
			c.step()
		}
	}
}

// A poller with clients is looked at in every sweep, whether or not they ask for something.
func TestPollersWithClientsAreLookedAt(t *testing.T) {
	g := &idlePoller{clients: true}
	c := hostCore(t, g)
	for range 10 * aloneAfter {
		c.step()
	}
	if g.looks != 10*aloneAfter {
		t.Errorf("%d looks in %d sweeps", g.looks, 10*aloneAfter)
	}
}

// A poller with work is looked at in every sweep.
func TestPollersWithWorkAreLookedAt(t *testing.T) {
	g := &busyPoller{}
	c := hostCore(t, g)
	for range 10 * aloneAfter {
		if !c.step() {
			t.Fatal("the poller had work, the core says that there was none")
		}
	}
	if g.looks != 10*aloneAfter {
		t.Errorf("%d looks in %d sweeps", g.looks, 10*aloneAfter)
	}
}
