package fabrictest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
)

const (
	rulePrivate = "private (at most Limits.MaxPrivate bytes) is shown to the acceptor; what it answers is QP.PeerPrivate."
	ruleRefuse  = "Refusal is a RejectedError, nobody there wraps ErrRefused."
	ruleAttempt = "ctx bounds the attempt only."
	ruleBacklog = "Backlog is how many connection requests may wait for Accept; a dialer beyond that is refused with ErrRefused."
	ruleAccept  = "Accept waits for the next connection request. After Close it returns ErrClosed."
	ruleUnlist  = "Close stops listening and refuses what waits. Accepted queue pairs go on."
)

func connectCases() []*testCase {
	return join(
		each("connect/private-data", rulePrivate, privateData, fabric.RC, fabric.UC),
		one("connect/private-too-long", rulePrivate, privateTooLong),
		one("connect/reject", ruleRefuse, reject),
		one("connect/nobody", ruleRefuse, nobodyListens),
		one("connect/transport-mismatch", "cfg.Transport must equal Transport.", transportMismatch),
		one("connect/cancel-dial", ruleAttempt, cancelDial),
		one("connect/context-is-of-the-attempt", ruleAttempt, contextOfAttempt),
		each("connect/cycles", "A queue pair is ready when its maker returns it.", connectCycles, fabric.RC, fabric.UC),
		one("connect/at-once", "A queue pair is ready when its maker returns it.", usableAtOnce),
		one("connect/many-at-once", "A queue pair is ready when its maker returns it.", manyDials),
	)
}

// dialed is what Dial returned.
type dialed struct {
	qp  fabric.QP
	err error
}

// dial dials from B in the background.
func (t *trial) dial(ctx context.Context, c *crew, l fabric.Listener, cfg fabric.QPConfig, private []byte) <-chan dialed {
	ch := make(chan dialed, 1)
	c.run(func() {
		qp, err := t.world.B.Dial(ctx, l.Addr(), cfg, private)
		if (qp == nil) == (err == nil) {
			t.Errorf("Dial returned %v and %v", qp, err)
		}
		if qp != nil {
			t.keep(&t.qps, "QP", true, qp.Close)
		}
		ch <- dialed{qp, err}
	})
	return ch
}

// accept takes the next request.
func (t *trial) accept(l fabric.Listener) fabric.ConnRequest {
	t.Helper()
	req, err := l.Accept(t.ctx())
	t.must("Listener.Accept", err)
	return req
}

// take accepts a request on an owner of A.
func (t *trial) take(req fabric.ConnRequest, o *owner, private []byte) fabric.QP {
	t.Helper()
	cfg := pairConfig{tr: req.Transport()}.withDefaults().config(o)
	qp, err := req.Accept(t.ctx(), cfg, private)
	t.must("ConnRequest.Accept", err)
	t.keep(&t.qps, "QP", false, qp.Close)
	return qp
}

func privateData(t *trial, tr fabric.Transport) {
	l := t.listener()
	most := min(t.world.A.Limits().MaxPrivate, t.world.B.Limits().MaxPrivate)
	a := t.owner(t.world.A, t.domain(t.world.A), 4096, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	for i, n := range []int{0, 1, 56, most - 1, most} {
		out, back := pattern(2*i+1).bytes(0, n), pattern(2*i+2).bytes(0, []int{0, 1, 56, most - 1, most}[4-i])
		c := t.crew()
		mine := bytes.Clone(out)
		ch := t.dial(t.ctx(), c, l, pairConfig{tr: tr}.withDefaults().config(b), mine)
		req := t.accept(l)
		if req.Transport() != tr || !bytes.Equal(req.Private(), out) {
			t.Fatalf("request for %v with %d bytes %x, want %v with %d bytes %x",
				req.Transport(), len(req.Private()), req.Private(), tr, n, out)
		}
		answer := bytes.Clone(back)
		qa := t.take(req, a, answer)
		d := <-ch
		t.must("Dial", d.err)
		clear(mine)
		clear(answer) // nobody keeps our slices
		if !bytes.Equal(d.qp.PeerPrivate(), back) || !bytes.Equal(qa.PeerPrivate(), out) {
			t.Fatalf("private data: dialer sees %x, want %x; acceptor sees %x, want %x",
				d.qp.PeerPrivate(), back, qa.PeerPrivate(), out)
		}
		for _, qp := range []fabric.QP{qa, d.qp} {
			if qp.State() != fabric.StateReady || qp.Err() != nil || qp.Address() != nil || qp.Transport() != tr {
				t.Fatalf("new queue pair: state %v, err %v, address %x, transport %v", qp.State(), qp.Err(), qp.Address(), qp.Transport())
			}
		}
		c.join()
		t.must("Close", d.qp.Close())
		t.must("Close", qa.Close())
	}
}

func privateTooLong(t *trial) {
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 4096, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	long := make([]byte, max(t.world.A.Limits().MaxPrivate, t.world.B.Limits().MaxPrivate)+1)
	qp, err := t.world.B.Dial(t.ctx(), l.Addr(), pairConfig{}.withDefaults().config(b), long)
	if qp != nil || !errors.Is(err, fabric.ErrInvalid) {
		t.Fatalf("Dial with %d bytes of private data returned %v, %v", len(long), qp, err)
	}
	c := t.crew()
	ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil)
	req := t.accept(l)
	qp, err = req.Accept(t.ctx(), pairConfig{}.withDefaults().config(a), long)
	if qp != nil || !errors.Is(err, fabric.ErrInvalid) {
		t.Fatalf("Accept with %d bytes of private data returned %v, %v", len(long), qp, err)
	}
	_ = req.Reject(nil)
	if d := <-ch; d.err == nil {
		t.Fatalf("Accept failed, and Dial succeeded")
	}
	c.join()
}

func reject(t *trial) {
	l := t.listener()
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	for _, n := range []int{0, 1, 40, t.world.A.Limits().MaxPrivate} {
		why := pattern(n+1).bytes(0, n)
		c := t.crew()
		ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), []byte("please"))
		t.must("Reject", t.accept(l).Reject(why))
		d := <-ch
		var rejected *fabric.RejectedError
		if !errors.As(d.err, &rejected) || !bytes.Equal(rejected.Private, why) {
			t.Fatalf("Dial returned %v, want a RejectedError with %x", d.err, why)
		}
		c.join()
	}
	// The completion queue's room is free again, and the listener works.
	p := t.pair(pairConfig{size: t.slots(2)})
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a message after rejections")
}

func nobodyListens(t *trial) {
	b := t.owner(t.world.B, t.domain(t.world.B), 512, false)
	cfg := pairConfig{}.withDefaults().config(b)
	ctx, stop := t.contextWithStop()
	defer stop()
	for range 3 {
		if qp, err := t.world.B.Dial(ctx, t.world.Listen(), cfg, nil); qp != nil || !errors.Is(err, fabric.ErrRefused) {
			t.Fatalf("Dial where nobody listens returned %v, %v", qp, err)
		}
	}
	l := t.newListener(fabric.ListenConfig{})
	addr := l.Addr()
	t.must("Listener.Close", l.Close())
	if qp, err := t.world.B.Dial(ctx, addr, cfg, nil); qp != nil || !errors.Is(err, fabric.ErrRefused) {
		t.Fatalf("Dial where nobody listens any more returned %v, %v", qp, err)
	}
	// The address is free again.
	again, err := t.world.A.Listen(addr, fabric.ListenConfig{})
	t.must("Listen at an address that was given back", err)
	t.keep(&t.listeners, "Listener", false, again.Close)
	if other, err := t.world.A.Listen(addr, fabric.ListenConfig{}); err == nil {
		_ = other.Close()
		t.Fatalf("two listeners at %v", addr)
	}
}

func transportMismatch(t *trial) {
	t.need(fabric.UC)
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 512, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 512, false)
	c := t.crew()
	ch := t.dial(t.ctx(), c, l, pairConfig{tr: fabric.UC}.withDefaults().config(b), nil)
	req := t.accept(l)
	qp, err := req.Accept(t.ctx(), pairConfig{tr: fabric.RC}.withDefaults().config(a), nil)
	if qp != nil || !errors.Is(err, fabric.ErrInvalid) {
		t.Fatalf("Accept of a UC request as RC returned %v, %v", qp, err)
	}
	_ = req.Reject(nil)
	if d := <-ch; d.err == nil {
		t.Fatalf("Accept failed, and Dial succeeded")
	}
	c.join()
}

// cancelDial gives up while the acceptor thinks.
func cancelDial(t *trial) {
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 2048, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 2048, false)
	cfg := pairConfig{}.withDefaults().config(b)
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	if qp, err := t.world.B.Dial(dead, l.Addr(), cfg, nil); qp != nil || err == nil {
		t.Fatalf("Dial with a context that is over returned %v, %v", qp, err)
	}
	soon, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if qp, err := t.world.B.Dial(soon, l.Addr(), cfg, nil); qp != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Dial with a deadline and nobody who accepts returned %v, %v", qp, err)
	}
	c := t.crew()
	ctx, cancel := context.WithCancel(context.Background())
	ch := t.dial(ctx, c, l, cfg, []byte("impatient"))
	var req fabric.ConnRequest
	for req = t.accept(l); string(req.Private()) != "impatient"; req = t.accept(l) {
		_ = req.Reject(nil)
	}
	cancel()
	if d := <-ch; !errors.Is(d.err, context.Canceled) {
		t.Fatalf("Dial that was cancelled returned %v", d.err)
	}
	// Now it is too late: an error, or a queue pair that breaks.
	acfg := pairConfig{}.withDefaults().config(a)
	if qp, err := req.Accept(t.ctx(), acfg, nil); err == nil {
		e := a.add(qp, acfg, nil)
		t.await("the queue pair of a dialer that went away to break",
			func() bool { return e.qp.State() == fabric.StateError }, a)
	}
	c.join()
	p := t.pair(pairConfig{size: t.slots(2)})
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a message after a cancelled Dial")
}

// contextOfAttempt cancels the contexts of Dial and Accept when they are done.
func contextOfAttempt(t *trial) {
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 256, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 256, false)
	dctx, dcancel := context.WithCancel(context.Background())
	actx, acancel := context.WithCancel(context.Background())
	c := t.crew()
	pc := pairConfig{size: t.slots(2)}.withDefaults()
	ch := t.dial(dctx, c, l, pc.config(b), nil)
	req := t.accept(l)
	qa, err := req.Accept(actx, pc.config(a), nil)
	t.must("Accept", err)
	d := <-ch
	t.must("Dial", d.err)
	dcancel()
	acancel()
	c.join()
	p := &pair{
		t: t, a: a.add(qa, pc.config(a), t.mem(a.dom, pc.size, everything)),
		b: b.add(d.qp, pc.config(b), t.mem(b.dom, pc.size, everything)),
	}
	for i := range 20 {
		p.sendOne(p.b, variant{size: i, signaled: true}, "a message after the contexts ended")
		p.sendOne(p.a, variant{size: i, signaled: true}, "an answer after the contexts ended")
	}
}

// connectCycles connects, talks and closes, one after the other, on the same
// completion queues.
func connectCycles(t *trial, tr fabric.Transport) {
	a := t.owner(t.world.A, t.domain(t.world.A), 128, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 128, false)
	ma, mb := t.mem(a.dom, t.slots(3), everything), t.mem(b.dom, t.slots(3), everything)
	ma.shared, mb.shared = tr != fabric.RC, tr != fabric.RC
	c := pairConfig{tr: tr}.withDefaults()
	for i := range 64 {
		qa, qb := t.handshake(a, b, c)
		p := &pair{t: t, a: a.add(qa, c.config(a), ma), b: b.add(qb, c.config(b), mb), last: pattern(1 + 100*i)}
		what := fmt.Sprintf("cycle %d", i)
		p.sendOne(p.b, variant{size: 20, signaled: true}, what)
		p.writeOne(p.a, variant{size: 30, signaled: true}, what)
		first, second := p.a, p.b
		if i%2 == 0 {
			first, second = p.b, p.a
		}
		t.must("Close", first.qp.Close())
		delete(first.ends, first.qp.Num())
		t.await("the other end", func() bool { return second.qp.State() == fabric.StateError }, second.owner)
		t.must("Close", second.qp.Close())
		delete(second.ends, second.qp.Num())
	}
}

// usableAtOnce posts in the moment that Dial returns; the acceptor has not
// returned from Accept perhaps.
func usableAtOnce(t *trial) {
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 128, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 128, false)
	pc := pairConfig{}.withDefaults()
	mb, ma := t.mem(b.dom, 4096, everything), t.mem(a.dom, 4096, everything)
	for i := range t.times(50) {
		pat := pattern(i + 1)
		mb.write(0, pat, 64)
		c := t.crew()
		c.run(func() { // owns a
			req := t.accept(l)
			qp, err := req.Accept(t.ctx(), pc.config(a), nil)
			t.must("Accept", err)
			e := a.add(qp, pc.config(a), ma)
			e.postRecv(e.recvAt(64, 64))
			t.await("the first message", func() bool { return len(e.received) > 0 }, a)
			e.takeReceived(1)
			ma.expect(64, pat, 64)
			ma.expect(1024, pat, 64)
			ma.verify("the first message and the WRITE before it")
			t.must("Close", qp.Close())
			delete(a.ends, qp.Num())
		})
		qp, err := t.world.B.Dial(t.ctx(), l.Addr(), pc.config(b), nil)
		t.must("Dial", err)
		e := b.add(qp, pc.config(b), mb)
		e.post(unsignaled(e.writeTo(ma.Remote().At(1024), 0, 64)), unsignaled(e.sendFrom(0, 64)))
		t.await("the acceptor to close", func() bool { return qp.State() != fabric.StateReady }, b)
		c.join()
		t.must("Close", qp.Close())
		delete(b.ends, qp.Num())
	}
}

// manyDials connects many at the same time, with private data to tell who is
// who, and checks that every connection leads to its own peer.
func manyDials(t *trial) {
	const n = 32
	l := t.newListener(fabric.ListenConfig{})
	c := t.crew()
	accepted := make(chan *end, n)
	c.run(func() {
		for range n {
			req := t.accept(l)
			o := t.owner(t.world.A, t.domain(t.world.A), 128, false)
			cfg := pairConfig{}.withDefaults().config(o)
			qp, err := req.Accept(t.ctx(), cfg, req.Private())
			t.must("Accept", err)
			accepted <- o.add(qp, cfg, t.mem(o.dom, 4096, everything))
		}
		close(accepted)
	})
	ends := make([]*end, n)
	domB := t.domain(t.world.B)
	for i := range n {
		c.run(func() {
			o := t.owner(t.world.B, domB, 128, false)
			cfg := pairConfig{}.withDefaults().config(o)
			name := fmt.Appendf(nil, "dialer %d", i)
			qp, err := t.world.B.Dial(t.ctx(), l.Addr(), cfg, name)
			t.must("Dial", err)
			if !bytes.Equal(qp.PeerPrivate(), name) {
				t.Fatalf("%s was answered %q", name, qp.PeerPrivate())
			}
			ends[i] = o.add(qp, cfg, t.mem(o.dom, 4096, everything))
		})
	}
	c.join()
	for a := range accepted {
		var i int
		if _, err := fmt.Sscanf(string(a.qp.PeerPrivate()), "dialer %d", &i); err != nil {
			t.Fatalf("private data %q", a.qp.PeerPrivate())
		}
		p := &pair{t: t, a: a, b: ends[i]}
		p.b.mem.write(0, pattern(i+1), 64)
		a.postRecv(a.recvAt(0, 64))
		p.do(p.b, p.b.sendFrom(0, 64))
		p.recvs(a, 1)
		a.mem.expect(0, pattern(i+1), 64)
		a.mem.verify(fmt.Sprintf("the message of dialer %d", i))
	}
}
