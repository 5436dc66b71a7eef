package fabrictest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/remora-kv/remora/fabric"
)

const (
	rulePrivate = "private (at most Limits.MaxPrivate bytes) is shown to the acceptor; what it answers is QP.PeerPrivate."
	ruleRefuse  = "Refusal is a RejectedError, the error without a listener wraps ErrRefused."
	ruleOptions = "Listen and Dial refuse an address with an option that the provider does not know (ErrInvalid)."
	ruleAttempt = "ctx bounds the attempt only."
	ruleBacklog = "Backlog is how many connection requests may wait for Accept; a dialer beyond that is refused with ErrRefused."
	ruleAccept  = "Accept waits for the next connection request. After Close it returns ErrClosed."
	ruleUnlist  = "Close stops listening and refuses what waits. Accepted queue pairs go on."
)

func connectCases() []*testCase {
	return join(
		one("connect/private-too-long", rulePrivate, privateTooLong),
		one("connect/unknown-option", ruleOptions, unknownOption),
		one("connect/transport-mismatch", "cfg.Transport must equal Transport.", transportMismatch),
		one("connect/cancel-dial", ruleAttempt, cancelDial),
		one("connect/context-is-of-the-attempt", ruleAttempt, contextOfAttempt),
		each("connect/cycles", "A queue pair is ready when its maker returns it.", connectCycles, fabric.RC, fabric.UC),
		one("connect/at-once", "A queue pair is ready when its maker returns it.", usableAtOnce),
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

// unknownOption has Listen and Dial refuse an option that no provider has.
func unknownOption(t *trial) {
	l := t.listener()
	addr := l.Addr()
	addr.Options = maps.Clone(addr.Options)
	if addr.Options == nil {
		addr.Options = url.Values{}
	}
	addr.Options.Set("colour", "red")
	o := t.owner(t.world.B, t.domain(t.world.B), 512, false)
	if qp, err := t.world.B.Dial(t.ctx(), addr, pairConfig{}.withDefaults().config(o), nil); qp != nil || !errors.Is(err, fabric.ErrInvalid) {
		t.Fatalf("Dial of %v returned %v, %v", addr, qp, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := t.world.A.Listen(addr, fabric.ListenConfig{}); again != nil || !errors.Is(err, fabric.ErrInvalid) {
		t.Fatalf("Listen at %v returned %v, %v", addr, again, err)
	}
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
		t.Fatalf("Dial with a deadline of a listener that does not accept returned %v, %v", qp, err)
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

func peerReceiveCases() []*testCase {
	return join(
		peers("G9/rnr-late", ruleRNR, lateReceive, fabric.RC),
		peers("G9/rnr-timeout", ruleRNR, rnrTimeout, fabric.RC),
	)
}

// lateReceive has a message wait until the other side posts a receive.
func lateReceive(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr})
	p.turns(func() {
		for i := range 4 {
			l.mem.write(0, pattern(i+1), 64)
			w := l.sendFrom(0, 64)
			if i%2 == 1 {
				w = l.writeImmTo(l.remote.At(0), 0, 64, 5)
			}
			l.post(w)
			l.wantQuiet()
			p.meet("posted", l.owner)
			p.wantDone(l.done(1)[0], w)
			p.meet("received", l.owner)
		}
	}, func() {
		for i := range 4 {
			p.meet("posted", l.owner)
			l.mem.verify("before there is a receive")
			l.postRecv(l.recvAt(0, 64))
			l.got(1)
			l.mem.expect(0, pattern(i+1), 64)
			l.mem.verify("a message that waited")
			p.meet("received", l.owner)
		}
	})
}

// rnrTimeout sends a message for which no receive is posted.
func rnrTimeout(p *peer, tr fabric.Transport) {
	const limit = 60 * time.Millisecond
	for i := range 2 {
		l := p.connect(pairConfig{tr: tr, rnr: limit})
		if p.role == Server {
			p.meet("failed", l.owner)
			l.mem.verify("the target of a message without a receive")
			continue
		}
		start := p.dev.Clock().Now()
		w, after := l.sendFrom(0, 64), l.fenceWR()
		if i == 1 {
			w = l.writeImmTo(l.remote, 0, 64, 1)
		}
		l.post(w, after)
		p.await("the failure", func() bool { return len(l.sent) > 1 }, l.owner)
		l.wantFailure(w, fabric.StatusRNRExceeded, after)
		l.wantBroken(fabric.ErrCompletion)
		if took := time.Duration(p.dev.Clock().Now() - start); took < limit {
			p.Fatalf("%v gave up after %v, RNRTimeout is %v", w.Op, took, limit)
		}
		p.meet("failed", l.owner)
	}
}

func peerConnectCases() []*testCase {
	return join(
		peers("connect/private-data", rulePrivate, privateData, fabric.RC, fabric.UC),
		peers("connect/reject", ruleRefuse, rejects, fabric.RC),
		peers("connect/no-listener", ruleRefuse, noListener, fabric.RC),
		peers("connect/many-at-once", "A queue pair is ready when its maker returns it.", manyDials, fabric.RC),
		peers("G13/graceful", ruleGraceful, graceful, fabric.RC, fabric.UC),
	)
}

// dialTo dials the server with private data.
func (p *peer) dialTo(addr fabric.Addr, o *owner, tr fabric.Transport, private []byte) (fabric.QP, error) {
	qp, err := p.dev.Dial(p.context, addr, pairConfig{tr: tr}.withDefaults().config(o), private)
	if qp != nil {
		p.keep(&p.qps, "QP", false, qp.Close)
	}
	return qp, err
}

// request takes the next connection request at the server.
func (p *peer) nextRequest() fabric.ConnRequest {
	p.Helper()
	req, err := p.listener().Accept(p.context)
	p.must("Listener.Accept", err)
	return req
}

// privateData shows private data of all lengths to both sides.
func privateData(p *peer, tr fabric.Transport) {
	most := p.both.MaxPrivate
	lengths := []int{0, 1, 56, most - 1, most}
	o := p.owner(p.dev, p.domain(p.dev), 4096, false)
	var addr fabric.Addr
	if p.role == Server {
		p.say(p.listener().Addr().String())
	} else {
		addr = p.theirAddr()
	}
	for i, n := range lengths {
		ask, answer := pattern(2*i+1).bytes(0, n), pattern(2*i+2).bytes(0, lengths[len(lengths)-1-i])
		var qp fabric.QP
		want := answer
		if p.role == Server {
			req := p.nextRequest()
			if req.Transport() != tr || !bytes.Equal(req.Private(), ask) {
				p.Fatalf("request for %v with %x, want %v with %x", req.Transport(), req.Private(), tr, ask)
			}
			qp, want = p.take(req, o, answer), ask
		} else {
			var err error
			qp, err = p.dialTo(addr, o, tr, ask)
			p.must("Dial", err)
		}
		clear(ask)
		clear(answer) // the provider has kept no slice of ours
		if want := pattern(2*i+1+int(p.role)).bytes(0, len(want)); !bytes.Equal(qp.PeerPrivate(), want) {
			p.Fatalf("the peer's private data is %x, want %x", qp.PeerPrivate(), want)
		}
		if qp.State() != fabric.StateReady || qp.Err() != nil || qp.Address() != nil || qp.Transport() != tr {
			p.Fatalf("new queue pair: state %v, err %v, address %x, transport %v", qp.State(), qp.Err(), qp.Address(), qp.Transport())
		}
		p.meet(fmt.Sprintf("private data of %d bytes", n))
		p.must("Close", qp.Close())
	}
}

// rejects refuses some, then takes one.
func rejects(p *peer, tr fabric.Transport) {
	why := [][]byte{nil, []byte("not today"), pattern(3).bytes(0, p.both.MaxPrivate)}
	if p.role == Server {
		p.say(p.listener().Addr().String())
		for _, b := range why {
			p.must("Reject", p.nextRequest().Reject(b))
		}
	} else {
		o := p.owner(p.dev, p.domain(p.dev), 1024, false)
		addr := p.theirAddr()
		for _, b := range why {
			qp, err := p.dialTo(addr, o, tr, []byte("please"))
			var re *fabric.RejectedError
			if qp != nil || !errors.As(err, &re) || !bytes.Equal(re.Private, b) {
				p.Fatalf("Dial that is rejected with %x returned %v, %v", b, qp, err)
			}
		}
	}
	p.meet("rejected")
	firstMessage(p, tr)
}

// noListener dials where a listener has been.
func noListener(p *peer, tr fabric.Transport) {
	if p.role == Server {
		l := p.newListener(fabric.ListenConfig{})
		p.must("Listener.Close", l.Close())
		p.say(l.Addr().String())
		p.meet("refused")
		again, err := p.dev.Listen(l.Addr(), fabric.ListenConfig{})
		p.must("Listen at an address that was given back", err)
		p.keep(&p.listeners, "Listener", false, again.Close)
		if other, err := p.dev.Listen(l.Addr(), fabric.ListenConfig{}); err == nil {
			_ = other.Close()
			p.Fatalf("two listeners at %v", l.Addr())
		}
		return
	}
	o := p.owner(p.dev, p.domain(p.dev), 1024, false)
	addr := p.theirAddr()
	for range 3 {
		qp, err := p.dialTo(addr, o, tr, nil)
		if qp != nil || !errors.Is(err, fabric.ErrRefused) {
			p.Fatalf("Dial of a closed listener returned %v, %v", qp, err)
		}
	}
	p.meet("refused")
}

// manyDials makes many connections to one listener at the same time. Each leads
// to its own peer.
func manyDials(p *peer, tr fabric.Transport) {
	const n = 32
	ends := make([]*end, n)
	c := p.crew()
	join := func(i int, o *owner, qp fabric.QP) {
		ends[i] = o.add(qp, pairConfig{}.withDefaults().config(o), p.mem(o.dom, 4096, everything))
		ends[i].mem.shared = true
	}
	dom := p.domain(p.dev)
	if p.role == Server {
		l := p.listener()
		for range n {
			c.run(func() {
				req := p.nextRequest()
				i, err := strconv.Atoi(string(req.Private()))
				p.must("private data", err)
				o := p.owner(p.dev, dom, 128, false)
				qp, err := req.Accept(p.context, pairConfig{}.withDefaults().config(o), req.Private())
				p.must("Accept", err)
				join(i, o, qp)
			})
		}
		p.say(l.Addr().String())
	} else {
		addr := p.theirAddr()
		for i := range n {
			c.run(func() {
				o := p.owner(p.dev, dom, 128, false)
				name := strconv.Itoa(i)
				qp, err := p.dev.Dial(p.context, addr, pairConfig{}.withDefaults().config(o), []byte(name))
				p.must("Dial", err)
				if string(qp.PeerPrivate()) != name {
					p.Fatalf("dialer %s was answered %q", name, qp.PeerPrivate())
				}
				join(i, o, qp)
			})
		}
	}
	c.join()
	p.greetAll(ends)
}

// greetAll sends a message both ways on every connection.
func (p *peer) greetAll(ends []*end) {
	p.Helper()
	var owners []*owner
	for _, e := range ends {
		e.postRecv(e.recvAt(0, 64))
		owners = append(owners, e.owner)
	}
	p.meet("receives", owners...)
	for i, e := range ends {
		e.mem.write(1024, pattern(2*i+int(p.role)), 64)
		e.post(e.sendFrom(1024, 64))
	}
	for i, e := range ends {
		p.await("a message both ways", func() bool { return len(e.sent) > 0 && len(e.received) > 0 }, owners...)
		e.takeSent(1)
		e.takeReceived(1)
		e.mem.expect(0, pattern(2*i+1-int(p.role)), 64)
		e.mem.verify(fmt.Sprintf("the message of dialer %d", i))
	}
}

// graceful ends connections while the other side has not looked yet.
func graceful(p *peer, tr fabric.Transport) {
	const n = 20
	for i, byClose := range []bool{false, true, false, true} {
		l := p.connect(pairConfig{tr: tr, size: 4096})
		if (p.role == Client) == (i < 2) {
			p.meet("receives", l.owner)
			for k := range n {
				l.mem.write(k*16, pattern(k+1), 16)
				l.post(l.sendFrom(k*16, 16))
			}
			l.done(n)
			if byClose {
				p.must("Close", l.qp.Close())
			} else {
				p.must("Disconnect", l.qp.Disconnect())
				p.wantErr("Err after Disconnect", l.qp.Err(), fabric.ErrClosed)
			}
			p.meet("ended")
			continue
		}
		for k := range n + 4 {
			l.postRecv(l.recvAt(k*16, 16))
		}
		p.meet("receives", l.owner)
		p.await("all receives", func() bool { return len(l.received) == n+4 }, l.owner)
		for k, c := range l.received {
			if (tr == fabric.RC && (k < n) != (c.Status == fabric.StatusOK)) || (k >= n && c.Status != fabric.StatusFlushed) {
				p.Fatalf("receive %d of %d completed as %+v; %d messages were sent", k, n+4, c, n)
			}
			if k < n {
				l.mem.expect(k*16, pattern(k+1), 16)
			}
		}
		if tr == fabric.RC { // UC may drop some
			l.mem.verify("the messages before the end")
		}
		p.wantDisconnected(l.end)
		p.meet("ended")
	}
}
