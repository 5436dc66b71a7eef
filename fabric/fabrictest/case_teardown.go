package fabrictest

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleCQBusy  = "Queue pairs that use it must be closed before: otherwise ErrBusy."
	ruleDomBusy = "While it has regions or queue pairs it returns ErrBusy."
	ruleAny     = "From any goroutine at any time: everything on Device, Domain, Listener and ConnRequest; QP.Disconnect, State, " +
		"Err, Done, Counters and the getters; Waiter.Wake; all of Region except Close."
	ruleJoin = "Making a queue pair (Dial, Accept, NewUD) on a completion queue that its owner is polling is allowed from any goroutine."
	rulePass = "The caller synchronises a change of owner."
)

func teardownCases() []*testCase {
	return join(
		each("close/cq-busy", ruleCQBusy, cqBusy, fabric.RC, fabric.UD),
		each("close/domain-busy", ruleDomBusy, domainBusy, fabric.RC, fabric.UD),
		one("close/order", "One-sided operations of a peer end with the region, not with the queue pair", closeOrder),
	)
}

func cqBusy(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, split: true, size: t.slots(2)})
	for _, e := range []*end{p.a, p.b} {
		for _, cq := range e.cqs {
			t.wantErr("Close of a completion queue in use", cq.Close(), fabric.ErrBusy)
		}
	}
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a message after a refused Close")
	t.must("QP.Close", p.b.qp.Close())
	for _, cq := range p.b.cqs {
		t.must("CQ.Close", cq.Close())
		t.wantErr("second CQ.Close", cq.Close(), fabric.ErrClosed)
	}
	// A broken queue pair is not a closed one.
	if tr == fabric.RC {
		t.wantDisconnected(p.a)
		t.wantErr("Close of a completion queue in use", p.a.recvCQ().Close(), fabric.ErrBusy)
	}
}

func domainBusy(t *trial, tr fabric.Transport) {
	dom := t.newDomain(t.world.A)
	r, err := dom.Alloc("fabrictest busy", 64, everything)
	t.must("Alloc", err)
	t.wantErr("Close of a domain with a region", dom.Close(), fabric.ErrBusy)
	t.must("Region.Close", r.Close())
	p := t.connect(t.owner(t.world.A, dom, 128, false), t.owner(t.world.B, t.domain(t.world.B), 128, false),
		pairConfig{tr: tr, size: t.slots(2)})
	t.must("Region.Close", p.a.mem.Close())
	t.wantErr("Close of a domain with a queue pair", dom.Close(), fabric.ErrBusy)
	t.must("QP.Close", p.a.qp.Close())
	if p.a.to != nil {
		t.must("AddressHandle.Close", p.a.to.Close())
	}
	t.must("Domain.Close", dom.Close())
	t.wantErr("second Domain.Close", dom.Close(), fabric.ErrClosed)
	if r, err := dom.Alloc("fabrictest closed", 64, 0); err == nil {
		_ = r.Close()
		t.Fatalf("a closed domain made a region")
	}
}

// closeOrder closes everything of one side while the other goes on naming its
// memory.
func closeOrder(t *trial) {
	for range t.times(20) {
		p := t.pair(pairConfig{size: 16 << 10})
		c := t.crew()
		var posted atomic.Int64
		c.run(func() { // owns p.b
			for p.b.qp.State() == fabric.StateReady {
				p.b.post(p.b.writeTo(p.a.mem.Remote(), 0, 8192), p.b.readFrom(p.a.mem.Remote(), 8192, 8192))
				t.await("completions", func() bool { return len(p.b.sent) >= 2 }, p.b.owner)
				p.b.sent = nil
				posted.Add(1)
			}
		})
		t.await("operations", func() bool { return posted.Load() > 5 }, p.a.owner)
		t.must("QP.Close", p.a.qp.Close())
		t.must("Region.Close", p.a.mem.Close())
		t.must("CQ.Close", p.a.cqs[0].Close())
		c.join()
		t.wantErr("Err", p.b.qp.Err(), fabric.ErrDisconnected, fabric.ErrCompletion)
		t.must("QP.Close", p.b.qp.Close())
	}
}

func threadCases() []*testCase {
	return join(
		one("T1/pass-ownership", rulePass, passOwnership),
		one("T2/any-goroutine", ruleAny, anyGoroutine),
		one("T3/join-polled-cq", ruleJoin, joinPolledCQ),
	)
}

// passOwnership hands both ends of a connection from goroutine to goroutine.
func passOwnership(t *trial) {
	p := t.pair(pairConfig{size: t.slots(2)})
	for i := range t.times(100) {
		c := t.crew()
		c.run(func() {
			p.sendOne(p.b, variant{size: i, signaled: true}, "a message by a new owner")
			p.sendOne(p.a, variant{size: i, signaled: true}, "an answer by a new owner")
		})
		c.join()
	}
}

// anyGoroutine calls everything that T2 lists while the owner works.
func anyGoroutine(t *trial) {
	p := t.pair(pairConfig{size: t.slots(2)})
	w := t.waiter(p.a.dev, fabric.WaitConfig{CQs: p.a.cqs})
	var done atomic.Bool
	c := t.crew()
	for _, e := range []*end{p.a, p.b} {
		c.run(func() {
			for !done.Load() {
				t.check()
				q := e.qp
				if q.State() != fabric.StateReady || q.Err() != nil || q.Num() == 0 && q.Transport() != fabric.RC {
					t.Fatalf("state %v, err %v", q.State(), q.Err())
				}
				select {
				case <-q.Done():
					t.Fatalf("Done is closed and nothing is wrong")
				default:
				}
				_, _, _, _ = q.Counters(), q.PeerPrivate(), q.Peer(), q.Address()
				_, _, _ = e.dev.Counters(), e.dev.Limits(), e.dev.Clock().Now()
				_, _, _ = e.mem.Remote(), e.mem.Len(), e.mem.Access()
				w.Wake()
				r, err := e.dom.Alloc("fabrictest any", 64, everything)
				t.must("Alloc", err)
				t.must("Region.Close", r.Close())
				cq, err := e.dev.NewCQ(8)
				t.must("NewCQ", err)
				t.must("CQ.Close", cq.Close())
				d, err := e.dev.NewDomain()
				t.must("NewDomain", err)
				t.must("Domain.Close", d.Close())
			}
		})
	}
	for i := range t.times(400) {
		p.sendOne(p.b, variant{size: i % 100, signaled: true}, "a message")
		p.sendOne(p.a, variant{size: i % 100, signaled: true}, "an answer")
		w.Wait(func() bool { p.a.poll(); return true }, 0)
	}
	done.Store(true)
	c.join()
}

// joinPolledCQ makes queue pairs on completion queues that are in use, while
// their owners poll, and works with them.
func joinPolledCQ(t *trial) {
	const n = 24
	a := t.owner(t.world.A, t.domain(t.world.A), 64*(n+1), false)
	b := t.owner(t.world.B, t.domain(t.world.B), 64*(n+1), false)
	pc := pairConfig{sendDepth: 16, recvDepth: 16, size: t.slots(2)}.withDefaults()
	first := t.connect(a, b, pc)
	made := make(chan [2]fabric.QP, n)
	c := t.crew()
	c.run(func() {
		defer close(made)
		for range n {
			qa, qb := t.handshake(a, b, pc)
			made <- [2]fabric.QP{qa, qb}
		}
	})
	pairs := []*pair{first}
	for round := 0; made != nil || round < 3*n; round++ {
		select {
		case qps, ok := <-made:
			if !ok {
				made = nil
				break
			}
			pairs = append(pairs, &pair{
				t: t, last: pattern(1000 * len(pairs)),
				a: a.add(qps[0], pc.config(a), t.mem(a.dom, pc.size, everything)),
				b: b.add(qps[1], pc.config(b), t.mem(b.dom, pc.size, everything)),
			})
		default:
		}
		t.check()
		p := pairs[round%len(pairs)]
		p.sendOne(p.b, variant{size: 40, signaled: true}, "a message on a shared completion queue")
		p.sendOne(p.a, variant{size: 40, signaled: true}, "an answer on a shared completion queue")
	}
	c.join()
	if len(pairs) != n+1 {
		t.Fatalf("%d queue pairs joined, want %d", len(pairs)-1, n)
	}
}
