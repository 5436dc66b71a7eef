package fabrictest

import (
	"github.com/remora-kv/remora/fabric"
)

const (
	ruleCount = "Every executed operation is counted once as out-bound at the initiator's queue pair and device, and once as in-bound " +
		"at the target's."
	ruleSums = "Counters returns the sums over all queue pairs, past ones included."
)

func counterCases() []*testCase {
	return join(
		each("G15/each-operation", ruleCount, countEach, fabric.RC, fabric.UC, fabric.UD),
		one("G15/both-ways", ruleCount, countBothWays),
		one("G15/device-sums", ruleSums, deviceSums),
		one("G15/errors", "Errors counts completions with an error other than flushes.", countErrors),
		each("G15/dropped", "Dropped counts messages of UC and UD that were thrown away here.", countDropped, fabric.UC, fabric.UD),
	)
}

// tally is what the counters should say.
type tally struct{ fabric.Counters }

func (y *tally) out(op fabric.Op, bytes int) {
	y.Out[op]++
	y.OutBytes += uint64(bytes)
}

// in enters an operation of the peer.
func (y *tally) in(op fabric.Op, bytes int) {
	if op == fabric.OpSend {
		op = fabric.OpRecv
	}
	y.In[op]++
	y.InBytes += uint64(bytes)
}

// agree reports whether counters are what they should be. The receive that a
// WRITE_IMM consumes may be counted beside the WRITE_IMM or not.
func (y *tally) agree(got fabric.Counters) bool {
	want := y.Counters
	if got == want {
		return true
	}
	want.In[fabric.OpRecv] += want.In[fabric.OpWriteImm]
	return got == want
}

// wantCounts waits until the counters agree: those in-bound may lag behind.
func (p *pair) wantCounts(what string, y *tally, got func() fabric.Counters) {
	t := p.t
	t.Helper()
	if !t.within(t.patience()/10, func() bool { return y.agree(got()) }, p.a.owner, p.b.owner) {
		t.Fatalf("%s: counters are\n%+v, want\n%+v", what, got(), y.Counters)
	}
}

// countEach does each operation of a transport a different number of times.
// Where messages may be dropped, in-bound is at most out-bound.
func countEach(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	var a, b tally
	for op := fabric.OpSend; op < fabric.NumOps; op++ {
		if !tr.Allows(op) || (op.Atomic() && !p.b.dev.Limits().Atomics) {
			continue
		}
		for i := range 5 + 3*int(op) {
			n := 8 * (1 + i%4)
			if op.Atomic() {
				n = 8
			}
			w := p.b.request(op, p.a.mem.Remote(), 1024, n)
			w.To = p.b.to
			if op == fabric.OpSend || op == fabric.OpWriteImm {
				p.a.postRecv(p.a.recvAt(2048, n))
			}
			b.out(op, n)
			a.in(op, n)
			if i%2 == 0 || tr == fabric.UD {
				p.do(p.b, w)
				continue
			}
			p.do(p.b, unsignaled(w), p.b.fenceWR())
			b.out(fabric.OpWrite, 0)
			a.in(fabric.OpWrite, 0)
		}
	}
	t.settle(func() bool { return false }, p.a.owner, p.b.owner)
	p.a.received = nil
	p.wantCounts("the initiator's queue pair", &b, p.b.qp.Counters)
	p.wantCounts("the initiator's device", &b, p.b.dev.Counters)
	if tr == fabric.RC {
		p.wantCounts("the target's queue pair", &a, p.a.qp.Counters)
		p.wantCounts("the target's device", &a, p.a.dev.Counters)
		return
	}
	got := p.a.qp.Counters()
	for op := range got.In {
		if limit := a.In[op] + a.In[fabric.OpWriteImm]; got.In[op] > limit || got.Out[op] != 0 {
			t.Fatalf("the target's queue pair counts %+v, at most %+v happened", got, a.Counters)
		}
	}
	if got.In == ([fabric.NumOps]uint64{}) {
		t.Fatalf("the target's queue pair counted nothing")
	}
}

// countBothWays has both ends be initiator and target.
func countBothWays(t *trial) {
	p := t.pair(pairConfig{})
	tallies := map[*end]*tally{p.a: {}, p.b: {}}
	rng := t.random(0)
	ops := []fabric.Op{fabric.OpSend, fabric.OpWrite, fabric.OpWriteImm, fabric.OpRead}
	if p.a.dev.Limits().Atomics {
		ops = append(ops, fabric.OpFetchAdd, fabric.OpCmpSwap)
	}
	for range t.times(400) {
		e := []*end{p.a, p.b}[rng.IntN(2)]
		target := p.other(e)
		op, n := ops[rng.IntN(len(ops))], rng.IntN(500)
		if op.Atomic() {
			n = 8
		}
		if op == fabric.OpSend || op == fabric.OpWriteImm {
			target.postRecv(target.recvAt(4096, 500))
		}
		p.do(e, e.request(op, target.mem.Remote(), 1024, n))
		if op == fabric.OpSend || op == fabric.OpWriteImm {
			p.recvs(target, 1)
		}
		tallies[e].out(op, n)
		tallies[target].in(op, n)
	}
	for e, y := range tallies {
		p.wantCounts("a queue pair", y, e.qp.Counters)
		p.wantCounts("a device", y, e.dev.Counters)
	}
}

// deviceSums closes queue pairs one by one; the device remembers them.
func deviceSums(t *trial) {
	var pairs []*pair
	var a, b tally
	for i := range 4 {
		p := t.pair(pairConfig{size: 4096})
		for range 10 * (i + 1) {
			p.do(p.b, p.b.writeTo(p.a.mem.Remote(), 0, 100))
			b.out(fabric.OpWrite, 100)
			a.in(fabric.OpWrite, 100)
			p.do(p.b, p.b.readFrom(p.a.mem.Remote(), 0, 10))
			b.out(fabric.OpRead, 10)
			a.in(fabric.OpRead, 10)
			p.a.postRecv(p.a.recvAt(0, 1))
			p.do(p.b, p.b.sendFrom(0, 1))
			p.recvs(p.a, 1)
			b.out(fabric.OpSend, 1)
			a.in(fabric.OpSend, 1)
		}
		pairs = append(pairs, p)
	}
	for i, p := range pairs {
		p.wantCounts("A", &a, p.a.dev.Counters)
		p.wantCounts("B", &b, p.b.dev.Counters)
		first, second := p.a, p.b
		if i%2 == 0 {
			first, second = p.b, p.a
		}
		before := second.qp.Counters()
		t.must("Close", first.qp.Close())
		t.wantDisconnected(second)
		if after := second.qp.Counters(); after.Out != before.Out || after.In != before.In {
			t.Fatalf("the end of the connection changed the counters from %+v to %+v", before, after)
		}
		if c := first.qp.Counters(); c.Out == ([fabric.NumOps]uint64{}) && c.In == ([fabric.NumOps]uint64{}) {
			t.Fatalf("a closed queue pair has forgotten its counters")
		}
		t.must("Close", second.qp.Close())
	}
	p := pairs[0]
	p.wantCounts("A, all closed", &a, p.a.dev.Counters)
	p.wantCounts("B, all closed", &b, p.b.dev.Counters)
}

func countErrors(t *trial) {
	p := t.pair(pairConfig{})
	for range 5 {
		p.b.postRecv(p.b.recvAt(0, 8))
	}
	p.b.post(p.b.readFrom(fabric.Remote{Addr: 1, Key: 1}, 0, 8), p.b.writeTo(p.a.mem.Remote(), 0, 8))
	p.await("the completions", func() bool { return len(p.b.sent) == 2 && len(p.b.received) == 5 })
	for what, got := range map[string]func() fabric.Counters{"queue pair": p.b.qp.Counters, "device": p.b.dev.Counters} {
		if c := got(); c.Errors != 1 || c.Out[fabric.OpWrite] != 0 {
			t.Fatalf("one READ failed and a WRITE was flushed: the %s counts %+v", what, c)
		}
	}
}

// countDropped counts messages without a receive, wherever they were dropped.
func countDropped(t *trial, tr fabric.Transport) {
	const n = 25
	p := t.pair(pairConfig{tr: tr})
	for range n {
		p.do(p.b, p.b.sendFrom(0, 32))
	}
	dropped := func() uint64 { return p.a.qp.Counters().Dropped + p.b.qp.Counters().Dropped }
	t.settle(func() bool { return dropped() >= n }, p.a.owner, p.b.owner)
	if d := dropped(); d == 0 || d > n {
		t.Fatalf("%d messages had no receive, %d were counted as dropped", n, d)
	}
	if in := p.a.qp.Counters().In[fabric.OpRecv]; in != 0 {
		t.Fatalf("%d receives were counted, none was posted", in)
	}
	q := t.pair(pairConfig{})
	q.a.postRecv(q.a.recvAt(0, 8))
	q.do(q.b, q.b.sendFrom(0, 8))
	if d := q.a.qp.Counters().Dropped + q.b.qp.Counters().Dropped; d != 0 {
		t.Fatalf("RC dropped %d messages", d)
	}
}
