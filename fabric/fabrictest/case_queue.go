package fabrictest

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleSignal = "An unsignaled one occupies its place in the send queue until a later signaled one of the same queue pair " +
		"has been polled."
	ruleCQ = "A completion queue cannot overflow: a queue pair that might overflow it is refused when it is made (ErrCQTooSmall)."
)

func queueCases() []*testCase {
	return join(
		each("G10/unsignaled-run", ruleSignal, unsignaledRun, fabric.RC, fabric.UC, fabric.UD),
		each("G10/places", ruleSignal, placesFreed, fabric.RC, fabric.UC, fabric.UD),
		each("G10/only-unsignaled", ruleSignal, onlyUnsignaled, fabric.RC),
		each("G10/silence", "Only a signaled request yields a completion on success.", silence, fabric.RC),
		each("G12/two-on-one-cq", ruleCQ, twoOnOneCQ, fabric.RC, fabric.UC, fabric.UD),
		each("G12/cq-too-small", ruleCQ, cqTooSmall, fabric.RC, fabric.UD),
		one("G12/cq-too-small-accept", ruleCQ, cqTooSmallAccept),
		each("G12/cq-never-overflows", ruleCQ, cqNeverOverflows, fabric.RC),
		each("G12/depth-one", ruleChain, depthOne, fabric.RC),
		each("G12/receives", ruleChain, receivesBeyondDepth, fabric.RC, fabric.UC, fabric.UD),
	)
}

// cheap is a request that completes at the initiator whatever the peer does.
func (p *pair) cheap() fabric.WR {
	if p.b.cfg.Transport == fabric.UD {
		return p.b.sendFrom(0, 8)
	}
	return p.b.writeTo(p.a.mem.Remote(), 0, 8)
}

// unsignaledRun posts one signaled request in depth, for many times the depth.
func unsignaledRun(t *trial, tr fabric.Transport) {
	for _, depth := range []int{1, 2, 7, 16} {
		p := t.pair(pairConfig{tr: tr, sendDepth: depth})
		for round := range t.times(100) {
			for range depth - 1 {
				p.b.post(unsignaled(p.cheap()))
			}
			w := p.cheap()
			p.b.post(w)
			if n, err := p.b.qp.Post([]fabric.WR{p.cheap()}); n != 0 || !errors.Is(err, fabric.ErrQueueFull) {
				t.Fatalf("depth %d, round %d: Post into a full queue returned %d, %v", depth, round, n, err)
			}
			t.wantDone(p.sends(p.b, 1)[0], w)
			if len(p.b.sent) != 0 {
				t.Fatalf("depth %d, round %d: more than one completion: %+v", depth, round, p.b.sent)
			}
		}
		p.quiet()
	}
}

// placesFreed polls one signaled request in the middle: the places up to it
// are free, no more and no fewer.
func placesFreed(t *trial, tr fabric.Transport) {
	const depth = 8
	for signaledAt := range depth {
		p := t.pair(pairConfig{tr: tr, sendDepth: depth})
		var want fabric.WR
		for i := range depth {
			w := p.cheap()
			if i == signaledAt {
				want = w
			} else {
				w = unsignaled(w)
			}
			p.b.post(w)
		}
		t.wantDone(p.sends(p.b, 1)[0], want)
		t.linger(p.a.owner, p.b.owner)
		chain := make([]fabric.WR, depth+1)
		for i := range chain {
			chain[i] = p.cheap()
		}
		n, err := p.b.qp.Post(chain)
		if n != signaledAt+1 || !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatalf("request %d of %d was signaled and polled, and Post took %d (%v)", signaledAt, depth, n, err)
		}
		p.sends(p.b, n)
		p.quiet()
	}
}

// onlyUnsignaled fills the queue for good: nothing frees it, and it can be
// closed.
func onlyUnsignaled(t *trial, tr fabric.Transport) {
	const depth = 8
	p := t.pair(pairConfig{tr: tr, sendDepth: depth})
	pat := p.next()
	for i := range depth {
		p.b.mem.write(i*32, pat, 32)
		p.b.post(unsignaled(p.b.writeTo(p.a.mem.Remote().At(i*32), i*32, 32)))
		p.a.mem.expect(i*32, pat, 32)
	}
	p.await("the last WRITE", func() bool { return p.a.mem.holds((depth-1)*32, pat, 32) })
	p.quiet()
	if n, err := p.b.qp.Post([]fabric.WR{p.cheap()}); n != 0 || !errors.Is(err, fabric.ErrQueueFull) {
		t.Fatalf("Post into a queue full of unsignaled requests returned %d, %v", n, err)
	}
	p.a.mem.verify("after unsignaled WRITEs")
	t.must("Close", p.b.qp.Close())
	p.await("the other end to break", func() bool { return p.a.qp.State() != fabric.StateReady })
}

// silence mixes signaled and unsignaled requests at random and compares the
// completions.
func silence(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, sendDepth: 32})
	rng := t.random(0)
	for round := range t.times(200) {
		var want []fabric.WR
		for range 1 + rng.IntN(31) {
			w := p.anyOp(rng.IntN(3))
			if rng.IntN(3) != 0 {
				w = unsignaled(w)
			} else {
				want = append(want, w)
			}
			p.b.post(w)
		}
		f := p.b.fenceWR()
		p.b.post(f)
		want = append(want, f)
		cs := p.sends(p.b, len(want))
		for i := range want {
			t.wantDone(cs[i], want[i])
		}
		if len(p.b.sent) != 0 {
			t.Fatalf("round %d: a completion too many: %+v", round, p.b.sent)
		}
	}
	p.quiet()
}

// anyOp is a one-sided request that needs nothing from the target.
func (p *pair) anyOp(i int) fabric.WR {
	switch i {
	case 0:
		return p.b.writeTo(p.a.mem.Remote().At(1024), 0, 64)
	case 1:
		return p.b.readFrom(p.a.mem.Remote().At(2048), 8192, 64)
	}
	return p.b.fenceWR()
}

// twoOnOneCQ has two queue pairs, sends and receives, on one completion queue.
func twoOnOneCQ(t *trial, tr fabric.Transport) {
	const depth = 16
	c := pairConfig{tr: tr, sendDepth: depth, recvDepth: depth, size: t.slots(2)}
	a := t.owner(t.world.A, t.domain(t.world.A), 4*depth, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 4*depth, false)
	p, q := t.connect(a, b, c), t.connect(a, b, c)
	q.last = 1000
	if p.a.qp.Num() == q.a.qp.Num() || p.b.qp.Num() == q.b.qp.Num() {
		t.Fatalf("two queue pairs of one device have the same number: %d and %d, %d and %d",
			p.a.qp.Num(), q.a.qp.Num(), p.b.qp.Num(), q.b.qp.Num())
	}
	for i := range t.times(100) {
		what := fmt.Sprintf("message %d", i)
		p.sendOne(p.b, variant{size: 17, signaled: true}, what+" of the first pair")
		q.sendOne(q.a, variant{size: 23, signaled: true}, what+" of the second pair")
		p.sendOne(p.a, variant{size: 29, signaled: true}, what+" back")
		q.sendOne(q.b, variant{size: 31, signaled: true}, what+" back")
	}
}

// cqTooSmall fills a completion queue with reservations, exactly.
func cqTooSmall(t *trial, tr fabric.Transport) {
	o := t.owner(t.world.B, t.domain(t.world.B), 96, false)
	room := o.cqs[0].Depth()
	if room > 4*t.world.B.Limits().MaxDepth {
		t.Fatalf("NewCQ(96) has depth %d: too deep for a queue pair to overflow it", room)
	}
	newQP := func(send, recv int) (fabric.QP, error) {
		cfg := pairConfig{tr: tr, sendDepth: send, recvDepth: recv}.withDefaults().config(o)
		if tr == fabric.UD {
			return o.dom.NewUD(cfg)
		}
		return t.dialAccepted(t.world.B, cfg)
	}
	refused := func(send, recv int) {
		t.Helper()
		qp, err := newQP(send, recv)
		if qp != nil || !errors.Is(err, fabric.ErrCQTooSmall) {
			t.Fatalf("depths %d and %d: got %v, %v; want ErrCQTooSmall", send, recv, qp, err)
		}
	}
	refused(room/2, room-room/2+1)
	first, err := newQP(room/2, room-room/2-10)
	t.must("a queue pair that fits", err)
	refused(6, 5)
	second, err := newQP(5, 5)
	t.must("a queue pair that fits exactly", err)
	refused(1, 1)
	t.must("Close", first.Close())
	third, err := newQP(room/2, room-room/2-10)
	t.must("a queue pair in the room of one that was closed", err)
	t.must("Close", second.Close())
	t.must("Close", third.Close())
}

// dialAccepted dials A, which accepts whatever comes.
func (t *trial) dialAccepted(dev fabric.Device, cfg fabric.QPConfig) (fabric.QP, error) {
	t.connecting.Lock()
	defer t.connecting.Unlock()
	l := t.listener()
	oa := t.owner(t.world.A, t.domain(t.world.A), 256, false)
	ctx, stop := t.contextWithStop()
	defer stop()
	accepted := make(chan fabric.QP, 1)
	go func() {
		defer close(accepted)
		req, err := l.Accept(ctx)
		if err != nil {
			return
		}
		c := pairConfig{tr: cfg.Transport}.withDefaults().config(oa)
		if qp, err := req.Accept(ctx, c, nil); err == nil {
			accepted <- qp
		}
	}()
	qp, err := dev.Dial(ctx, l.Addr(), cfg, nil)
	if err != nil {
		stop()
	} else {
		t.keep(&t.qps, "QP", dev == t.world.B, qp.Close)
	}
	if other := <-accepted; other != nil {
		t.keep(&t.qps, "QP", false, other.Close)
	}
	return qp, err
}

// cqTooSmallAccept has the acceptor's queue too small: it gets an error, and the
// dialer is not left hanging.
func cqTooSmallAccept(t *trial) {
	l := t.listener()
	ob := t.owner(t.world.B, t.domain(t.world.B), 128, false)
	oa := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	dialed := make(chan error, 1)
	c := t.crew()
	c.run(func() {
		qp, err := t.world.B.Dial(t.ctx(), l.Addr(), pairConfig{}.withDefaults().config(ob), nil)
		if qp != nil {
			t.keep(&t.qps, "QP", true, qp.Close)
		}
		dialed <- err
	})
	req, err := l.Accept(t.ctx())
	t.must("Listener.Accept", err)
	deep := pairConfig{sendDepth: oa.cqs[0].Depth(), recvDepth: 1}.withDefaults().config(oa)
	qp, err := req.Accept(t.ctx(), deep, nil)
	if qp != nil || !errors.Is(err, fabric.ErrCQTooSmall) {
		t.Fatalf("Accept on a completion queue that is too small: got %v, %v", qp, err)
	}
	_ = req.Reject(nil)
	c.join()
	if err := <-dialed; err == nil {
		t.Fatalf("Accept failed, and Dial succeeded")
	}
}

// cqNeverOverflows posts receives as long as they are taken, without polling,
// while the peer sends: nothing is lost.
func cqNeverOverflows(t *trial, tr fabric.Transport) {
	const depth = 8
	p := t.pair(pairConfig{tr: tr, sendDepth: depth, recvDepth: depth, split: true})
	posted, sent, got := 0, 0, 0
	var buf [depth]fabric.Completion
	for total := t.times(50 * depth); got < total; {
		t.check()
		for range 4 * depth { // A never polls in here
			if n, err := p.a.qp.PostRecv([]fabric.RecvWR{{ID: uint64(posted), Local: p.a.mem.Seg(posted%64*16, 16)}}); err == nil {
				posted += n
			} else if !errors.Is(err, fabric.ErrQueueFull) {
				t.Fatalf("PostRecv: %v", err)
			}
			if sent-len(p.b.sent) < total && sent < posted {
				pat := pattern(1 + sent)
				off := sent % (2 * depth) * 16
				p.b.mem.write(off, pat, 16)
				if n, err := p.b.qp.Post([]fabric.WR{p.b.sendFrom(off, 16)}); err == nil {
					sent += n
				} else if !errors.Is(err, fabric.ErrQueueFull) {
					t.Fatalf("Post: %v", err)
				}
			}
			p.b.poll()
			p.b.sent = p.b.sent[:0]
		}
		n := p.a.recvCQ().Poll(buf[:])
		for _, c := range buf[:n] {
			if c.ID != uint64(got) || c.Status != fabric.StatusOK {
				t.Fatalf("receive %d completed as %+v", got, c)
			}
			b := p.a.mem.Bytes()[got%64*16:][:16]
			if want := pattern(1+got).bytes(0, 16); firstDifference(b, want) >= 0 {
				t.Fatalf("receive %d: %s", got, explain(b, want, firstDifference(b, want)))
			}
			got++
		}
	}
}

// depthOne works with the shortest queues.
func depthOne(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, sendDepth: 1, recvDepth: 1, size: t.slots(2)})
	for i := range t.times(100) {
		p.sendOne(p.b, variant{size: i, signaled: true}, fmt.Sprintf("message %d", i))
		p.sendOne(p.a, variant{size: i, signaled: true}, fmt.Sprintf("answer %d", i))
		p.do(p.b, p.b.readFrom(p.a.mem.Remote(), 0, 8))
	}
}

// receivesBeyondDepth posts more receives than fit, and again after some were
// consumed and polled.
func receivesBeyondDepth(t *trial, tr fabric.Transport) {
	const depth = 8
	p := t.pair(pairConfig{tr: tr, recvDepth: depth})
	size := p.a.head() + 16
	chain := func(n int) []fabric.RecvWR {
		wrs := make([]fabric.RecvWR, n)
		for i := range wrs {
			wrs[i] = p.a.recvAt(i*size, 16)
		}
		return wrs
	}
	if n, err := p.a.qp.PostRecv(chain(depth + 3)); n != depth || !errors.Is(err, fabric.ErrQueueFull) {
		t.Fatalf("PostRecv of %d into %d places returned %d, %v", depth+3, depth, n, err)
	}
	for k := 1; k <= depth; k++ {
		got := 0
		for try := 0; got < k; try++ {
			p.do(p.b, p.b.sendFrom(0, 16))
			before := got
			t.settle(func() bool {
				got += len(p.a.received)
				p.a.takeReceived(len(p.a.received))
				return got > before
			}, p.a.owner, p.b.owner)
			if try > 20*depth {
				t.Fatalf("%d messages arrived of %d", got, try)
			}
		}
		t.linger(p.a.owner, p.b.owner)
		got += len(p.a.received)
		p.a.takeReceived(len(p.a.received))
		if n, err := p.a.qp.PostRecv(chain(depth + 1)); n != got || !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatalf("%d receives were consumed and polled, and PostRecv took %d (%v)", got, n, err)
		}
	}
	t.must("State", p.a.qp.Err())
}
