package faults_test

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/loop"
)

// realTime makes a rig on the machine's clock.
func realTime(t *testing.T, tr fabric.Transport, plan string) *rig {
	t.Helper()
	g := newRig(t, tr, "")
	p, err := faults.ParsePlan(plan)
	must(t, err)
	inner, err := g.net.NewDevice("real")
	must(t, err)
	s := &side{t: t, dev: faults.Wrap(inner, p), tr: tr, peer: g.r}
	s.dom, err = s.dev.NewDomain()
	must(t, err)
	s.cq, err = s.dev.NewCQ(2 * inbox)
	must(t, err)
	s.reg, err = s.dom.Alloc("test", 1<<20, 0)
	must(t, err)
	must(t, g.s.qp.Close())
	must(t, g.r.qp.Close())
	if g.s.to != nil {
		must(t, g.s.to.Close())
	}
	must(t, g.s.reg.Close())
	must(t, g.s.cq.Close())
	must(t, g.s.dom.Close())
	must(t, g.s.dev.Close())
	g.s = s
	g.r.peer = s
	g.connect()
	return g
}

// napper is a device whose waiters move its clock on instead of sleeping: how
// long they sleep does not depend on how busy the machine is.
type napper struct {
	*clocked
	t *testing.T
}

func (n *napper) NewWaiter(fabric.WaitConfig) (fabric.Waiter, error) { return &nap{dev: n}, nil }

// nap is a waiter of a napper. It is not for calls of Wake.
type nap struct {
	fabric.Waiter
	dev           *napper
	waits, sleeps uint64
}

func (n *nap) Wait(poll func() bool, timeout time.Duration) bool {
	n.dev.t.Helper()
	if n.waits++; n.waits > 100 {
		n.dev.t.Fatal("the waiter does not come to rest")
	}
	if poll() {
		return true
	}
	if timeout == 0 {
		n.dev.t.Fatal("the waiter would sleep forever")
	}
	n.sleeps++
	n.dev.now.Add(int64(timeout))
	return poll()
}

func (n *nap) Sleeps() uint64 { return n.sleeps }
func (n *nap) Close() error   { return nil }

// TestSleep: a waiter sleeps until a held message is due, once and no longer.
func TestSleep(t *testing.T) {
	const delay = 20 * time.Millisecond
	g := newRigOn(t, fabric.UD, "ud.delay=20ms", func(c *clocked) fabric.Device { return &napper{c, t} })
	w, err := g.s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{g.s.cq}})
	must(t, err)
	defer w.Close()
	for i := range 10 {
		start := g.s.time.Now()
		g.s.post(fabric.OpSend, 0)
		found := w.Wait(func() bool { g.r.poll(); return len(g.r.got) == i+1 }, 0)
		took := time.Duration(g.s.time.Now() - start)
		if !found || took != delay || w.Sleeps() != uint64(i+1) {
			t.Errorf("round %d: found %v after %v and %d sleeps in all, messages take %v", i, found, took, w.Sleeps(), delay)
		}
	}
	g.turn()
	g.s.completedInOrder(10)
}

// TestHeldWhileWaiting: held messages leave while their owner waits for
// something else and never polls.
func TestHeldWhileWaiting(t *testing.T) {
	for _, c := range []struct {
		plan string
		tr   fabric.Transport
	}{
		{"ud.delay=2ms", fabric.UD},
		{"ud.reorder=2ms", fabric.UD},
		{"uc.delay=2ms", fabric.UC},
		{"uc.reorder=2ms", fabric.UC},
	} {
		t.Run(c.plan, func(t *testing.T) {
			g := realTime(t, c.tr, c.plan)
			w, err := g.s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{g.s.cq}, Spin: 20 * time.Microsecond})
			must(t, err)
			defer w.Close()
			g.s.post(fabric.OpSend, fabric.FlagInline)
			found := w.Wait(func() bool { g.r.poll(); return len(g.r.got) == 1 }, 2*time.Minute)
			if !found {
				t.Fatalf("the message is still held after %d sleeps", w.Sleeps())
			}
			g.turn()
			g.s.completedInOrder(1)
		})
	}
}

// TestWaiter: timeouts and wake-ups are as without faults while something is
// held for long.
func TestWaiter(t *testing.T) {
	g := realTime(t, fabric.UD, "ud.delay=2ms@op=0; ud.delay=1h@op=1")
	w, err := g.s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{g.s.cq}, Spin: 20 * time.Microsecond})
	must(t, err)
	defer w.Close()
	g.s.post(fabric.OpSend, 0)
	g.s.post(fabric.OpSend, 0)
	g.turn()
	clock := g.s.dev.Clock()
	start := clock.Now()
	if w.Wait(func() bool { return false }, 10*time.Millisecond) {
		t.Error("Wait found something")
	}
	if took := time.Duration(clock.Now() - start); took < 10*time.Millisecond {
		t.Errorf("Wait took %v", took)
	}
	w.Wake()
	if w.Wait(func() bool { return false }, 0) {
		t.Error("Wait found something")
	}
	go w.Wake()
	if w.Wait(func() bool { return false }, 0) {
		t.Error("Wait found something")
	}
	// No wake-up is left over, and none that was answered counts twice.
	start = clock.Now()
	if w.Wait(func() bool { return false }, 5*time.Millisecond) || time.Duration(clock.Now()-start) < 5*time.Millisecond {
		t.Error("Wait ended early")
	}
}

// TestForeignObjects: what is not of the wrapped device is refused with words.
func TestForeignObjects(t *testing.T) {
	net := loop.NewNetwork()
	a, b := newSide(t, net, "a", ""), newSide(t, net, "b", "")
	if _, err := a.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{b.cq}}); err == nil {
		t.Error("a waiter over another device's queue")
	}
	a.tr = fabric.UD
	for i, change := range []func(*fabric.QPConfig){
		func(c *fabric.QPConfig) { c.SendCQ = b.cq },
		func(c *fabric.QPConfig) { c.RecvCQ = b.cq },
	} {
		cfg := a.config()
		change(&cfg)
		if _, err := a.dom.NewUD(cfg); err == nil {
			t.Errorf("configuration %d is accepted", i)
		}
	}
	if a.reg.Domain() != a.dom {
		t.Error("a region is not of its domain")
	}
}
