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
	ruleTold = "On RC it completes with StatusRemoteAccess and breaks the queue pair on both sides. UC drops it in silence."
	ruleZero = "An operation of zero bytes names no memory and is not checked."
	ruleKeys = "a key opens a Region only through a queue pair of the same domain."
)

func accessCases() []*testCase {
	return join(
		one("G7/domains", ruleKeys, domainsApart),
		each("G7/zero-bytes", ruleZero, zeroBytes, fabric.RC, fabric.UC),
		one("G11/order-of-flush", "every other outstanding request and receive completes with StatusFlushed, in order, signaled or not.", flushOrder),
		one("G11/after-error", "What is posted in that state is flushed as well.", postAfterError),
	)
}

var opFileNames = [fabric.NumOps]string{"send", "recv", "write", "write-imm", "read", "fetch-add", "cmp-swap"}

func lowerName(op fabric.Op) string { return opFileNames[op] }

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

// wantFailure checks that the completions of sends are the failure of bad, then
// the flushed ones in order.
func (e *end) wantFailure(bad fabric.WR, status fabric.Status, flushed ...fabric.WR) {
	t := e.t
	t.Helper()
	want := append([]fabric.WR{bad}, flushed...)
	if len(e.sent) != len(want) {
		t.Fatalf("%d completions, want %d: %+v", len(e.sent), len(want), e.sent)
	}
	for i, c := range e.sent {
		s := fabric.StatusFlushed
		if i == 0 {
			s = status
		}
		if c.ID != want[i].ID || c.Op != want[i].Op || c.Status != s || c.QPN != e.qp.Num() {
			t.Fatalf("completion %d is %+v, want %v with id %#x: %v", i, c, want[i].Op, want[i].ID, s)
		}
	}
}

// wantFlushed checks that all receives came back unused, in order.
func (e *end) wantFlushed() {
	e.t.Helper()
	last := uint64(0)
	for i, c := range e.received {
		if c.Status != fabric.StatusFlushed || c.Op != fabric.OpRecv || c.ID <= last || c.QPN != e.qp.Num() {
			e.t.Fatalf("receive completion %d is %+v, want it flushed and in order", i, c)
		}
		last = c.ID
	}
}

// wantBroken checks the state, Err and Done.
func (e *end) wantBroken(causes ...error) {
	t := e.t
	t.Helper()
	t.await("the queue pair to break", func() bool { return e.qp.State() == fabric.StateError }, e.owner)
	t.wantErr("Err of a broken queue pair", e.qp.Err(), causes...)
	select {
	case <-e.qp.Done():
	default:
		t.Fatalf("State is error and Done is not closed")
	}
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
		x.p.b.wantFailure(w, fabric.StatusRemoteAccess)
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
	p.b.wantFailure(bad, fabric.StatusRemoteAccess)
	p.a.wantFlushed()
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
	p.b.wantBroken(fabric.ErrCompletion)
	p.a.wantBroken(fabric.ErrCompletion, fabric.ErrDisconnected, fabric.ErrPeerLost, fabric.ErrProtocol)
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
			e.wantFlushed()
			e.sent, e.received = nil, nil
		}
	}
	p.quiet()
	p.a.mem.verify("the target of requests that were flushed")
	p.b.mem.verify("the target of requests that were flushed")
}

func peerAccessCases() []*testCase {
	var cases []*testCase
	for op := fabric.OpWrite; op < fabric.NumOps; op++ {
		cases = append(cases, peers("G7/refused/"+lowerName(op), ruleRights+" "+ruleTold, refused(op), fabric.RC)...)
	}
	return join(cases,
		peers("G7/dropped/write", ruleRights+" "+ruleTold, dropped(fabric.OpWrite), fabric.UC),
		peers("G7/dropped/write-imm", ruleRights+" "+ruleTold, dropped(fabric.OpWriteImm), fabric.UC),
		peers("G7/revoked", ruleRevoke, revoked, fabric.RC),
	)
}

// violation is a place where an operation has no business, as the target tells
// it to the initiator.
type violation struct {
	What   string
	Target fabric.Remote
	Size   int
}

// violations agrees with the other side on the violations of an operation at
// the server. None of the regions that it returns may change.
func (p *peer) violations(op fabric.Op) (list []violation, watched []*mem) {
	p.Helper()
	if p.role == Client {
		own := p.mem(p.domain(p.dev), 8192, everything)
		p.say(own.Remote())
		p.hear(&list)
		return list, []*mem{own}
	}
	var foreign fabric.Remote // of the initiator's own device
	p.hear(&foreign)
	list, watched = p.makeViolations(op, foreign)
	for _, m := range watched {
		m.shared = true
	}
	p.say(list)
	return list, watched
}

func (p *peer) makeViolations(op fabric.Op, foreign fabric.Remote) (list []violation, watched []*mem) {
	p.Helper()
	const size = 8192
	dom, n := p.domain(p.dev), 64
	if op.Atomic() {
		n = 8
	}
	good := p.mem(dom, size, everything)
	lacking := p.mem(dom, size, everything&^op.Needs())
	local := p.mem(dom, size, 0)
	elsewhere := p.mem(p.newDomain(p.dev), size, everything)
	revoked := p.mem(dom, size, everything)
	gone := revoked.Remote()
	p.must("Region.Close", revoked.Close())
	// What takes the place of a revoked region must not open to its key.
	successor := p.mem(dom, size, everything)
	if successor.Remote().Key == gone.Key {
		p.Fatalf("the key %#x of a closed region was given to the next one", gone.Key)
	}
	watched = []*mem{good, lacking, local, elsewhere, successor}
	add := func(what string, r fabric.Remote, n int) { list = append(list, violation{what, r, n}) }
	r := good.Remote()
	add("region without the right "+op.Needs().String(), lacking.Remote(), n)
	add("region without any right", local.Remote(), n)
	add("region of another domain", elsewhere.Remote(), n)
	add("revoked region", gone, n)
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
		long := p.mem(dom, 512<<10, everything)
		long.write(0, pattern(1), 512<<10)
		watched = append(watched, long)
		add("one byte more than a long region", long.Remote(), 512<<10+1)
	}
	if !p.knownKey(foreign.Key, watched) {
		add("region of the initiator's own device", foreign, n)
	}
	rng := p.random(int(op))
	keys := []uint32{0, r.Key + 1, r.Key ^ 1, r.Key ^ 1<<31, math.MaxUint32, rng.Uint32(), rng.Uint32(), rng.Uint32(), rng.Uint32()}
	for _, k := range keys {
		if !p.knownKey(k, watched) {
			add(fmt.Sprintf("key %#x instead of %#x", k, r.Key), fabric.Remote{Addr: r.Addr, Key: k}, n)
		}
	}
	return list, watched
}

// refused tries each violation on a connection of its own, beside one that
// goes on.
func refused(op fabric.Op) func(p *peer, tr fabric.Transport) {
	return func(p *peer, tr fabric.Transport) {
		if op.Atomic() {
			p.needBothAtomics()
		}
		list, watched := p.violations(op)
		bystander := p.connect(pairConfig{tr: tr, size: room(64)})
		for i, x := range list {
			l := p.connect(pairConfig{tr: tr, size: 4096, sendDepth: 8, recvDepth: 8})
			if p.role == Client {
				l.violate(op, x, i%2 == 0)
			} else {
				l.suffer(x)
			}
			for _, m := range watched {
				m.verify(x.What + ": a region")
			}
			message := transfer{op: fabric.OpSend, n: 33, most: 64, pat: pattern(2*i + 1)}
			write := transfer{op: fabric.OpWrite, n: 44, most: 64, pat: pattern(2*i + 2)}
			if p.role == Client {
				bystander.initiate(message)
				bystander.serve(write)
			} else {
				bystander.serve(message)
				bystander.initiate(write)
			}
			p.must("Close", l.qp.Close())
		}
	}
}

// violate posts a good request, the bad one and some behind it, and checks that
// this side breaks as it should.
func (l *conn) violate(op fabric.Op, x violation, signaled bool) {
	p := l.p
	p.Helper()
	wide := p.mem(l.dom, max(x.Size, 4096), 0) // what is sent or where a READ would go
	l.mem.write(1024, pattern(1), 64)
	bad := l.request(op, x.Target, 0, 0)
	bad.Local = wide.Seg(0, x.Size)
	if !signaled {
		bad = unsignaled(bad)
	}
	after := []fabric.WR{
		l.writeTo(l.remote.At(2048), 1024, 64),
		unsignaled(l.sendFrom(1024, 64)),
		l.readFrom(l.remote.At(1024), 3000, 64),
	}
	l.threeReceives()
	p.meet("ready", l.owner)
	// Post may find the queue pair broken already, but takes all of them.
	l.post(append([]fabric.WR{unsignaled(l.writeTo(l.remote.At(1024), 1024, 64)), bad}, after...)...)
	p.await(x.What+": the completions", func() bool { return len(l.sent) >= 4 && len(l.received) >= 3 }, l.owner)
	l.wantFailure(bad, fabric.StatusRemoteAccess, after...)
	l.wantFlushed()
	l.wantBroken(fabric.ErrCompletion)
	var ce *fabric.CompletionError
	if err := l.qp.Err(); !errors.As(err, &ce) || ce.Status != fabric.StatusRemoteAccess {
		p.Fatalf("%s: Err is %v, want a CompletionError with StatusRemoteAccess", x.What, err)
	}
	l.mem.verify(x.What + ": the region for the others")
	wide.verify(x.What + ": local memory")
}

// suffer checks that a violation breaks this side too, and touches nothing.
func (l *conn) suffer(x violation) {
	p := l.p
	p.Helper()
	l.mem.expect(1024, pattern(1), 64)
	l.threeReceives()
	p.meet("ready", l.owner)
	p.await(x.What+": the flushes", func() bool { return len(l.received) >= 3 }, l.owner)
	l.wantFlushed()
	l.wantBroken(fabric.ErrCompletion, fabric.ErrDisconnected, fabric.ErrPeerLost, fabric.ErrProtocol)
	l.mem.verify(x.What + ": the region for the others")
}

func (l *conn) threeReceives() {
	for range 3 {
		l.postRecv(l.recvAt(0, 64))
	}
}

// dropped tries the violations on one connection of UC: no side gets an error,
// nothing changes, and what comes after arrives.
func dropped(op fabric.Op) func(p *peer, tr fabric.Transport) {
	return func(p *peer, tr fabric.Transport) {
		l := p.connect(pairConfig{tr: tr, size: room(256)})
		list, watched := p.violations(op)
		r := l.recvAt(0, 16)
		l.postRecv(r)
		for i, x := range list {
			good := transfer{op: fabric.OpWrite, n: 100 + i, most: 256, pat: pattern(i + 1)}
			if p.role == Client {
				w := l.request(op, x.Target, 0, 0)
				w.Local = p.mem(l.dom, max(x.Size, 4096), 0).Seg(0, x.Size)
				p.wantDone(l.do(w)[0], w)
				l.initiate(good)
			} else {
				l.serve(good)
			}
			for _, m := range watched {
				m.verify(x.What + ": a region")
			}
			if l.qp.State() != fabric.StateReady {
				p.Fatalf("%s: the queue pair is %v: %v", x.What, l.qp.State(), l.qp.Err())
			}
		}
		l.wantQuiet() // no receive was consumed
		p.meet("all tried", l.owner)
		for try, arrived := 0, false; !arrived; try++ {
			if p.role == Client {
				l.do(l.sendFrom(0, 16))
				p.say(try)
				p.hear(&arrived, l.owner)
				continue
			}
			p.hear(new(int), l.owner)
			arrived = p.arrives("a message", tr, func() bool { return len(l.received) > 0 }, l.owner)
			if arrived {
				if c := l.takeReceived(1)[0]; c.ID != r.ID || c.HasImm {
					p.Fatalf("a receive completed as %+v", c)
				}
			} else if try == attempts(tr) {
				p.Fatalf("no message arrived afterwards")
			}
			p.say(arrived)
		}
	}
}

// revoked closes a region that the other side has used before. Another of
// the same owner goes on.
func revoked(p *peer, tr fabric.Transport) {
	ops := []fabric.Op{fabric.OpWrite, fabric.OpRead}
	if p.both.Atomics {
		ops = append(ops, fabric.OpFetchAdd)
	}
	for _, op := range ops {
		// Made before the connection, which orders it before what comes (W4).
		doomed, other := p.mem(p.domain(p.dev), 4096, everything), p.mem(p.domain(p.dev), 4096, everything)
		l := p.connect(pairConfig{tr: tr, size: 4096, sendDepth: 8, recvDepth: 8})
		if p.role == Server {
			p.say([]fabric.Remote{doomed.Remote(), other.Remote()})
			p.meet("used", l.owner)
			p.must("Region.Close", doomed.Close())
			successor := p.mem(l.dom, 4096, everything)
			successor.shared = true
			p.meet("closed", l.owner)
			x := violation{What: "region that was closed meanwhile"}
			l.suffer(x)
			successor.verify(x.What + ": the one after it")
		} else {
			var targets []fabric.Remote
			p.hear(&targets, l.owner)
			use := func(at fabric.Remote) {
				w := l.request(op, at, 3072, 8)
				p.wantDone(l.do(w)[0], w)
				l.mem.ignore(3072, 8)
			}
			for range 5 {
				use(targets[0])
				use(targets[1])
			}
			p.meet("used", l.owner)
			p.meet("closed", l.owner)
			use(targets[1])
			l.violate(op, violation{What: "region that was closed meanwhile", Target: targets[0], Size: 8}, true)
		}
		p.meet("refused", l.owner)
		p.must("Close", l.qp.Close())
	}
}
