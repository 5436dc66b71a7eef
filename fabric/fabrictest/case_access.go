package fabrictest

import (
	"errors"
	"fmt"
	"math"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleRights = "A key that is revoked, of another domain, without the right for the operation, or an address range that is not " +
		"wholly inside the region, touches no byte."
	ruleTold = "On RC it completes with StatusRemoteAccess and breaks the queue pair on both sides. UC tells nobody and drops."
	ruleZero = "An operation of zero bytes names no memory and is not checked."
	ruleKeys = "a key opens a Region only through a queue pair of the same domain."
)

func accessCases() []*testCase {
	var cases []*testCase
	for op := fabric.OpWrite; op < fabric.NumOps; op++ {
		cases = append(cases, &testCase{
			name: "G7/refused/" + lowerName(op) + "/rc", rule: ruleRights + " " + ruleTold,
			run: func(t *trial) {
				if op.Atomic() {
					t.needAtomics()
				}
				accessRC(t, op)
			},
		})
	}
	for _, op := range []fabric.Op{fabric.OpWrite, fabric.OpWriteImm} {
		cases = append(cases, &testCase{
			name: "G7/dropped/" + lowerName(op) + "/uc", rule: ruleRights + " " + ruleTold,
			run: func(t *trial) {
				t.need(fabric.UC)
				accessUC(t, op)
			},
		})
	}
	return join(cases,
		one("G7/domains", ruleKeys, domainsApart),
		each("G7/zero-bytes", ruleZero, zeroBytes, fabric.RC, fabric.UC),
		one("G11/order-of-flush", "every other outstanding request and receive completes with StatusFlushed, in order, signaled or not.", flushOrder),
		one("G11/after-error", "What is posted in that state is flushed as well.", postAfterError),
	)
}

var opFileNames = [fabric.NumOps]string{"send", "recv", "write", "write-imm", "read", "fetch-add", "cmp-swap"}

func lowerName(op fabric.Op) string { return opFileNames[op] }

// violation is a place where an operation has no business.
type violation struct {
	what   string
	target fabric.Remote
	size   int
}

// violations lists what is wrong for an operation at A. The regions it makes
// are returned too: none of them may change.
func (t *trial) violations(op fabric.Op) (list []violation, watched []*mem) {
	dom := t.domain(t.world.A)
	const size = 8192
	n := 64
	if op.Atomic() {
		n = 8
	}
	good := t.mem(dom, size, everything)
	add := func(what string, r fabric.Remote, n int) { list = append(list, violation{what, r, n}) }
	lacking := t.mem(dom, size, everything&^op.Needs())
	local := t.mem(dom, size, 0)
	elsewhere := t.mem(t.newDomain(t.world.A), size, everything)
	ofB := t.mem(t.domain(t.world.B), size, everything)
	revoked := t.mem(dom, size, everything)
	gone := revoked.Remote()
	t.must("Region.Close", revoked.Close())
	// What takes the place of a revoked region must not open to its key.
	successor := t.mem(dom, size, everything)
	if successor.Remote().Key == gone.Key {
		t.Fatalf("the key %#x of a closed region was given to the next one", gone.Key)
	}
	watched = []*mem{good, lacking, local, elsewhere, ofB, successor}

	add("region without the right "+op.Needs().String(), lacking.Remote(), n)
	add("region without any right", local.Remote(), n)
	add("region of another domain", elsewhere.Remote(), n)
	add("revoked region", gone, n)
	if t.knownKey(ofB.Remote().Key, watched[:4]) || successor.Remote().Key == ofB.Remote().Key {
		t.Logf("a region of B has the key of a region of A: not tried")
	} else {
		add("region of the initiator's own device", ofB.Remote(), n)
	}
	r := good.Remote()
	add("end one word after the region", r.At(size-n+8), n)
	add("begin at the end of the region", r.At(size), n)
	add("begin one word before the region", fabric.Remote{Addr: r.Addr - 8, Key: r.Key}, n)
	add("begin far after the region", r.At(1<<30), n)
	add("address 0", fabric.Remote{Addr: 0, Key: r.Key}, n)
	add("range that wraps around", fabric.Remote{Addr: -uint64(n) + 8, Key: r.Key}, n)
	add("last word of the address space", fabric.Remote{Addr: math.MaxUint64 - 7, Key: r.Key}, n)
	if !op.Atomic() {
		add("end one byte after the region", r.At(size-n+1), n)
		add("begin one byte before the region", fabric.Remote{Addr: r.Addr - 1, Key: r.Key}, n)
		add("one byte more than the region", r, size+1)
		add("much more than the region", r.At(16), 512<<10)
		// A provider that divides an operation may find the first pieces in order.
		long := t.mem(dom, 512<<10, everything)
		long.write(0, pattern(1), 512<<10)
		watched = append(watched, long)
		add("one byte more than a long region", long.Remote(), 512<<10+1)
	}
	rng := t.random(int(op))
	for range 4 {
		if k := rng.Uint32(); !t.knownKey(k, watched) {
			add(fmt.Sprintf("random key %#x", k), fabric.Remote{Addr: r.Addr, Key: k}, n)
		}
	}
	for _, k := range []uint32{0, r.Key + 1, r.Key ^ 1, r.Key ^ 1<<31, math.MaxUint32} {
		if !t.knownKey(k, watched) {
			add(fmt.Sprintf("key %#x instead of %#x", k, r.Key), fabric.Remote{Addr: r.Addr, Key: k}, n)
		}
	}
	return list, watched
}

// knownKey reports whether a key is that of one of the regions.
func (t *trial) knownKey(key uint32, regions []*mem) bool {
	for _, m := range regions {
		if m.Remote().Key == key {
			return true
		}
	}
	return false
}

// request makes a request of kind op.
func (e *end) request(op fabric.Op, r fabric.Remote, off, n int) fabric.WR {
	w := e.writeTo(r, off, n)
	w.Op, w.Operand, w.Imm = op, 0x5555, 99
	return w
}

// accessRC tries each violation on a connection of its own, beside one that
// goes on.
func accessRC(t *trial, op fabric.Op) {
	bystander := t.pair(pairConfig{size: t.slots(3)})
	list, watched := t.violations(op)
	for i, v := range list {
		p := t.pair(pairConfig{size: 4096, sendDepth: 8, recvDepth: 8})
		wide := t.mem(p.b.dom, max(v.size, 4096), 0) // what is sent or where a READ would go
		p.violate(op, v, wide, i%2 == 0)
		wide.verify(v.what + ": local memory")
		for _, m := range watched {
			m.verify(v.what + ": a region")
		}
		bystander.sendOne(bystander.b, variant{size: 33, signaled: true}, v.what+": another connection")
		bystander.writeOne(bystander.a, variant{size: 44, signaled: true}, v.what+": another connection")
		t.must("Close", p.a.qp.Close())
		t.must("Close", p.b.qp.Close())
	}
}

// violate posts a good request, the bad one, and some behind it, and checks
// that both ends break as they should.
func (p *pair) violate(op fabric.Op, v violation, local *mem, signaled bool) {
	t := p.t
	t.Helper()
	for range 3 {
		p.a.postRecv(p.a.recvAt(0, 64))
		p.b.postRecv(p.b.recvAt(0, 64))
	}
	pat := p.next()
	p.b.mem.write(1024, pat, 64)
	p.a.mem.expect(1024, pat, 64)
	before := unsignaled(p.b.writeTo(p.a.mem.Remote().At(1024), 1024, 64))
	bad := p.b.request(op, v.target, 0, 0)
	bad.Local = local.Seg(0, v.size)
	if !signaled {
		bad = unsignaled(bad)
	}
	after := []fabric.WR{
		p.b.writeTo(p.a.mem.Remote().At(2048), 1024, 64),
		unsignaled(p.b.sendFrom(1024, 64)),
		p.b.readFrom(p.a.mem.Remote().At(1024), 3000, 64),
	}
	// Post may find the queue pair broken already, but takes all of them.
	p.b.post(append([]fabric.WR{before, bad}, after...)...)
	p.await(v.what+": the completions", func() bool {
		return len(p.b.sent) >= 4 && len(p.b.received) >= 3 && len(p.a.received) >= 3
	})
	p.wantFailure(p.b.sent, bad, fabric.StatusRemoteAccess, after)
	p.wantFlushed(p.b)
	p.wantFlushed(p.a)
	p.wantBroken(p.b, fabric.ErrCompletion)
	p.wantBroken(p.a, fabric.ErrCompletion, fabric.ErrDisconnected, fabric.ErrPeerLost, fabric.ErrProtocol)
	var ce *fabric.CompletionError
	if !errors.As(p.b.qp.Err(), &ce) || ce.Status != fabric.StatusRemoteAccess {
		t.Fatalf("%s: Err is %v, want a CompletionError with StatusRemoteAccess", v.what, p.b.qp.Err())
	}
	p.a.mem.verify(v.what + ": the target's region for the others")
	p.b.mem.verify(v.what + ": the initiator's region for the others")
}

// wantFailure checks that the completions are the failure of bad, then the
// flushed ones in order.
func (p *pair) wantFailure(got []fabric.Completion, bad fabric.WR, status fabric.Status, flushed []fabric.WR) {
	t := p.t
	t.Helper()
	want := append([]fabric.WR{bad}, flushed...)
	if len(got) != len(want) {
		t.Fatalf("%d completions, want %d: %+v", len(got), len(want), got)
	}
	for i, c := range got {
		s := fabric.StatusFlushed
		if i == 0 {
			s = status
		}
		if c.ID != want[i].ID || c.Op != want[i].Op || c.Status != s || c.QPN != p.b.qp.Num() {
			t.Fatalf("completion %d is %+v, want %v with id %#x: %v", i, c, want[i].Op, want[i].ID, s)
		}
	}
}

// wantFlushed checks that all receives of e came back unused, in order.
func (p *pair) wantFlushed(e *end) {
	p.t.Helper()
	last := uint64(0)
	for i, c := range e.received {
		if c.Status != fabric.StatusFlushed || c.Op != fabric.OpRecv || c.ID <= last || c.QPN != e.qp.Num() {
			p.t.Fatalf("receive completion %d is %+v, want it flushed and in order", i, c)
		}
		last = c.ID
	}
}

// wantBroken checks the state, Err and Done of e.
func (p *pair) wantBroken(e *end, causes ...error) {
	t := p.t
	t.Helper()
	p.await("the queue pair to break", func() bool { return e.qp.State() == fabric.StateError })
	t.wantErr("Err of a broken queue pair", e.qp.Err(), causes...)
	select {
	case <-e.qp.Done():
	default:
		t.Fatalf("State is error and Done is not closed")
	}
}

// accessUC tries each violation on one connection: nobody is told and nothing
// changes, and what comes after arrives.
func accessUC(t *trial, op fabric.Op) {
	p := t.pair(pairConfig{tr: fabric.UC, size: t.slots(3)})
	list, watched := t.violations(op)
	for _, m := range watched {
		m.shared = true
	}
	r := p.a.recvAt(t.slot(2), 64)
	p.a.postRecv(r)
	for _, v := range list {
		wide := t.mem(p.b.dom, max(v.size, 4096), 0)
		w := p.b.request(op, v.target, 0, 0)
		w.Local = wide.Seg(0, v.size)
		t.wantDone(p.do(p.b, w)[0], w)
		p.writeOne(p.b, variant{size: 50, signaled: true}, v.what+": a WRITE after it")
		for _, m := range watched {
			m.verify(v.what + ": a region")
		}
		if p.a.qp.State() != fabric.StateReady || p.b.qp.State() != fabric.StateReady {
			t.Fatalf("%s: the queue pairs are %v (%v) and %v (%v)", v.what,
				p.a.qp.State(), p.a.qp.Err(), p.b.qp.State(), p.b.qp.Err())
		}
	}
	p.quiet() // no receive was consumed
	for range attempts(fabric.UC) {
		p.do(p.b, p.b.sendFrom(0, 16))
		if t.settle(func() bool { return len(p.a.received) > 0 }, p.a.owner, p.b.owner) {
			if c := p.a.takeReceived(1)[0]; c.ID != r.ID || c.HasImm {
				t.Fatalf("a receive completed as %+v", c)
			}
			return
		}
	}
	t.Fatalf("no message arrived afterwards")
}

// domainsApart has two domains at the target: each connection opens the
// regions of its own domain only.
func domainsApart(t *trial) {
	da, db := t.newDomain(t.world.A), t.newDomain(t.world.A)
	c := pairConfig{size: 4096}
	connect := func(dom fabric.Domain) *pair {
		return t.connect(
			t.owner(t.world.A, dom, 128, false),
			t.owner(t.world.B, t.domain(t.world.B), 128, false), c)
	}
	pa, pb := connect(da), connect(db)
	ra, rb := t.mem(da, 4096, everything), t.mem(db, 4096, everything)
	pat := pattern(1)
	pa.b.mem.write(0, pat, 64)
	pb.b.mem.write(0, pat, 64)
	pa.do(pa.b, pa.b.writeTo(ra.Remote(), 0, 64))
	pb.do(pb.b, pb.b.writeTo(rb.Remote(), 0, 64))
	ra.expect(0, pat, 64)
	rb.expect(0, pat, 64)
	// The first connection has resolved its key; the second must not profit.
	for _, x := range []struct {
		p *pair
		r *mem
	}{{pa, rb}, {pb, ra}} {
		w := x.p.b.readFrom(x.r.Remote(), 128, 64)
		x.p.b.post(w)
		x.p.await("the refusal", func() bool { return len(x.p.b.sent) > 0 })
		x.p.wantFailure(x.p.b.sent, w, fabric.StatusRemoteAccess, nil)
		x.p.b.mem.verify("the destination of the READ")
	}
	ra.verify("the region of the first domain")
	rb.verify("the region of the second domain")
}

// zeroBytes names nonsense for operations of no bytes.
func zeroBytes(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	nowhere := fabric.Remote{Addr: 12345, Key: 0xdeadbeef}
	ops := []fabric.Op{fabric.OpWrite}
	if tr == fabric.RC {
		ops = append(ops, fabric.OpRead)
	}
	for _, op := range ops {
		for _, flags := range []fabric.Flags{0, fabric.FlagSignaled} {
			w := fabric.WR{ID: p.b.id(), Op: op, Remote: nowhere, Flags: flags}
			w.Local = p.b.mem.Seg(p.b.mem.Len(), 0)
			f := p.b.fenceWR()
			cs := p.do(p.b, w, f)
			t.wantDone(cs[len(cs)-1], f)
		}
	}
	r := p.a.recvAt(0, 0)
	p.a.postRecv(r)
	for range attempts(tr) {
		w := fabric.WR{ID: p.b.id(), Op: fabric.OpWriteImm, Remote: nowhere, Flags: fabric.FlagSignaled, Imm: 5}
		t.wantDone(p.do(p.b, w)[0], w)
		if t.settle(func() bool { return len(p.a.received) > 0 }, p.a.owner, p.b.owner) {
			break
		}
	}
	if c := p.recvs(p.a, 1)[0]; c.ID != r.ID || !c.HasImm || c.Imm != 5 || c.Bytes != 0 {
		t.Fatalf("the receive of an empty WRITE_IMM completed as %+v", c)
	}
	p.a.mem.verify("the target")
	p.quiet()
}

// flushOrder breaks a queue pair with long queues on both sides.
func flushOrder(t *trial) {
	const depth = 40
	p := t.pair(pairConfig{sendDepth: depth, recvDepth: depth, split: true})
	for range depth {
		p.a.postRecv(p.a.recvAt(0, 64))
	}
	for i := range depth {
		if i%2 == 0 {
			p.b.postRecv(p.b.recvAt(0, 64))
		}
	}
	// Requests of A that wait for receives of B beyond those posted.
	var waiting []fabric.WR
	for i := range depth {
		w := p.a.sendFrom(0, 0)
		if i%3 == 0 {
			w = unsignaled(w)
		}
		waiting = append(waiting, w)
	}
	p.a.post(waiting...)
	p.await("as many messages as there are receives", func() bool { return len(p.b.received) == depth/2 })
	p.b.takeReceived(depth / 2)
	bad := p.b.readFrom(fabric.Remote{Addr: 1, Key: 1}, 0, 8)
	p.b.post(bad)
	want := 0 // completions of A: signaled ones that ran, all that did not
	for i := range waiting {
		if i >= depth/2 || waiting[i].Flags&fabric.FlagSignaled != 0 {
			want++
		}
	}
	p.await("all completions", func() bool {
		return len(p.b.sent) == 1 && len(p.a.sent) == want && len(p.a.received) == depth
	})
	p.wantFailure(p.b.sent, bad, fabric.StatusRemoteAccess, nil)
	p.wantFlushed(p.a)
	last := uint64(0)
	for i, c := range p.a.sent {
		ran := c.ID < waiting[depth/2].ID
		if c.ID <= last || (ran && c.Status != fabric.StatusOK) || (!ran && c.Status != fabric.StatusFlushed) {
			t.Fatalf("completion %d of %d is %+v: out of order or with the wrong status", i, want, c)
		}
		last = c.ID
	}
}

// postAfterError posts to a broken queue pair, up to its depth and again.
func postAfterError(t *trial) {
	const depth = 8
	p := t.pair(pairConfig{sendDepth: depth, recvDepth: depth})
	p.b.post(p.b.readFrom(fabric.Remote{Addr: 1, Key: 1}, 0, 8))
	p.await("the failure", func() bool { return len(p.b.sent) == 1 })
	p.wantBroken(p.b, fabric.ErrCompletion)
	p.wantBroken(p.a, fabric.ErrCompletion, fabric.ErrDisconnected, fabric.ErrPeerLost, fabric.ErrProtocol)
	p.b.sent = nil
	for _, e := range []*end{p.b, p.a} {
		for round := range 3 {
			var wrs []fabric.WR
			for i := range depth {
				w := e.writeTo(p.other(e).mem.Remote(), 0, 64)
				if i%2 == 0 {
					w = unsignaled(w)
				}
				wrs = append(wrs, w)
				e.postRecv(e.recvAt(0, 64))
			}
			e.post(wrs...)
			if n, err := e.qp.Post([]fabric.WR{e.fenceWR()}); n != 0 || !errors.Is(err, fabric.ErrQueueFull) {
				t.Fatalf("round %d: Post beyond the depth of a broken queue pair returned %d, %v", round, n, err)
			}
			p.await("flushes", func() bool { return len(e.sent) >= depth && len(e.received) >= depth })
			for i, c := range e.sent {
				if i >= depth || c.ID != wrs[i].ID || c.Status != fabric.StatusFlushed {
					t.Fatalf("round %d: completion %d is %+v", round, i, c)
				}
			}
			p.wantFlushed(e)
			e.sent, e.received = nil, nil
		}
	}
	p.quiet()
	p.a.mem.verify("the target of requests that were flushed")
	p.b.mem.verify("the target of requests that were flushed")
}
