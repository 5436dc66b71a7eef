package fabrictest

import (
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

const ruleRevoke = "Close revokes the key and ends the memory."

func revokeCases() []*testCase {
	return join(
		one("G7/revoke-reused", ruleRevoke, revokeReused),
		one("G7/revoke-under-write", ruleRevoke, func(t *trial) { revokeUnder(t, fabric.OpWrite) }),
		one("G7/revoke-under-read", ruleRevoke, func(t *trial) { revokeUnder(t, fabric.OpRead) }),
		one("T4/close-then-free", "When Close returns, no request or receive of the queue pair touches local memory any more.",
			closeThenFree),
	)
}

// revokeReused closes and makes regions in turn, and tries the key of each
// later, through a connection that knew it and through one that did not.
func revokeReused(t *trial) {
	for round := range t.times(16) {
		known, unknown := t.pair(pairConfig{size: 4096}), t.pair(pairConfig{size: 4096})
		old := t.mem(known.a.dom, 4096, everything)
		known.do(known.b, known.b.writeTo(old.Remote(), 0, 64))
		t.must("Region.Close", old.Close())
		var successors []*mem
		for range 3 {
			successors = append(successors, t.mem(known.a.dom, 4096, everything))
		}
		if t.knownKey(old.Remote().Key, successors) {
			t.Fatalf("round %d: the key %#x was given out again at once", round, old.Remote().Key)
		}
		for _, p := range []*pair{known, unknown} {
			w := p.b.writeTo(old.Remote(), 0, 64)
			p.b.post(w)
			p.await("the refusal", func() bool { return len(p.b.sent) > 0 })
			p.b.wantFailure(w, fabric.StatusRemoteAccess)
		}
		for _, m := range successors {
			m.verify(fmt.Sprintf("round %d: a region made after", round))
			t.must("Region.Close", m.Close())
		}
		for _, p := range []*pair{known, unknown} {
			t.must("Close", p.a.qp.Close())
			t.must("Close", p.b.qp.Close())
		}
	}
}

// revokeUnder closes the region while a stream of operations runs on it: some
// succeed, one is refused, the rest is flushed, and nothing crashes.
func revokeUnder(t *trial, op fabric.Op) {
	for range t.times(20) {
		p := t.pair(pairConfig{size: 64 << 10})
		target := t.mem(p.a.dom, 64<<10, everything)
		var done atomic.Uint64
		c := t.crew()
		c.run(func() { // owns p.b
			for p.b.qp.State() == fabric.StateReady {
				w := p.b.request(op, target.Remote(), 0, 16<<10)
				p.b.post(w)
				t.await("a completion", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
				comp := p.b.sent[0]
				p.b.sent = nil
				if comp.ID != w.ID || (comp.Status != fabric.StatusOK && comp.Status != fabric.StatusRemoteAccess) {
					t.Fatalf("after %d operations: %+v", done.Load(), comp)
				}
				if comp.Status == fabric.StatusRemoteAccess {
					return
				}
				done.Add(1)
			}
			t.Fatalf("the queue pair broke without a failed request: %v", p.b.qp.Err())
		})
		t.await("some operations", func() bool { return done.Load() >= 3 }, p.a.owner)
		t.must("Region.Close", target.Close())
		// The memory may serve another purpose now.
		next := t.mem(p.a.dom, 64<<10, everything)
		c.join()
		next.verify("a region made after the one that was closed")
	}
}

// closeThenFree closes a queue pair with large operations under way and then
// the regions they use. What is made next must stay as it is.
func closeThenFree(t *trial) {
	const size = 256 << 10
	for range t.times(16) {
		p := t.pair(pairConfig{size: size})
		for range 4 {
			p.b.postRecv(p.b.recvAt(0, size))
			p.a.postRecv(p.a.recvAt(0, size))
		}
		for range 4 {
			p.b.post(p.b.readFrom(p.a.mem.Remote(), 0, size), p.b.sendFrom(0, size), p.b.writeTo(p.a.mem.Remote(), 0, size))
			p.a.post(p.a.sendFrom(0, size))
		}
		t.must("Close", p.b.qp.Close())
		t.must("Region.Close", p.b.mem.Close())
		next := t.mem(p.b.dom, size, everything)
		t.linger(p.a.owner)
		next.verify("a region made after Close")
		t.must("Close", p.a.qp.Close())
		t.must("Region.Close", p.a.mem.Close())
		next.verify("a region made after Close")
	}
}
