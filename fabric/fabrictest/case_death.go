package fabrictest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

const ruleDeath = "When a peer dies, the device notices by itself and the queue pair breaks with ErrPeerLost; requests in " +
	"flight complete with StatusPeerLost or StatusFlushed. Nothing hangs."

func deathCases() []*testCase {
	return join(
		each("G13/death/idle", ruleDeath, deathIdle, fabric.RC, fabric.UC),
		each("G13/death/receives", ruleDeath, deathReceives, fabric.RC, fabric.UC),
		one("G13/death/send-waits", ruleDeath, deathSendWaits),
		one("G13/death/reads", ruleDeath, deathReads),
		one("G13/death/peer-initiates", ruleDeath, deathPeerInitiates),
		one("G13/death/messages-before", ruleDeath, deathMessagesBefore),
		one("G13/death/asleep", ruleDeath, deathAsleep),
		one("G13/death/many", ruleDeath, deathMany),
		one("G13/death/datagrams", "UC and UD may drop a message", deathDatagrams),
		one("G13/death/request-waits", "Nothing hangs.", deathRequestWaits),
		one("G13/death/request-taken", "Nothing hangs.", deathRequestTaken),
		one("G13/death/listen", "Nothing hangs.", deathListen),
	)
}

// wantLost checks that e breaks because its peer died. Only e is driven.
func (t *trial) wantLost(e *end) {
	t.Helper()
	t.await("the survivor to notice", func() bool { return e.qp.State() == fabric.StateError }, e.owner)
	t.wantErr("Err of the survivor", e.qp.Err(), fabric.ErrPeerLost)
	select {
	case <-e.qp.Done():
	default:
		t.Fatalf("State is error and Done is not closed")
	}
}

// wantEnded checks that completions are of these requests, in order, from
// index done on all present and lost or flushed.
func (t *trial) wantEnded(got []fabric.Completion, wrs []fabric.WR) {
	t.Helper()
	if len(got) != len(wrs) {
		t.Fatalf("%d completions of %d requests: %+v", len(got), len(wrs), got)
	}
	for i, c := range got {
		if c.ID != wrs[i].ID || c.Op != wrs[i].Op || (c.Status != fabric.StatusFlushed && c.Status != fabric.StatusPeerLost) {
			t.Fatalf("completion %d is %+v, want request %#x lost or flushed", i, c, wrs[i].ID)
		}
	}
}

// afterlife checks that A goes on with another peer.
func (t *trial) afterlife() {
	t.Helper()
	d := t.fresh()
	if d == nil {
		return
	}
	c := pairConfig{size: t.slots(2)}
	p := t.connect(t.owner(t.world.A, t.domain(t.world.A), 128, false), t.owner(d, t.domain(d), 128, false), c)
	p.sendOne(p.b, variant{size: 100, signaled: true}, "a message of a fresh device")
	p.sendOne(p.a, variant{size: 100, signaled: true}, "an answer to a fresh device")
	p.writeOne(p.b, variant{size: 100, signaled: true}, "a WRITE of a fresh device")
}

// deathListen has a device that vanished asked for a listener.
func deathListen(t *trial) {
	t.kill()
	l, err := t.world.B.Listen(t.world.Listen(), fabric.ListenConfig{})
	if err == nil {
		t.must("Close", l.Close())
	}
	t.wantErr("Listen of a killed device", err, fabric.ErrClosed)
}

func deathIdle(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	t.kill()
	t.wantLost(p.a)
	t.linger(p.a.owner)
	if len(p.a.sent)+len(p.a.received) != 0 {
		t.Fatalf("completions out of nothing: %+v, %+v", p.a.sent, p.a.received)
	}
	t.afterlife()
}

func deathReceives(t *trial, tr fabric.Transport) {
	const n = 20
	p := t.pair(pairConfig{tr: tr})
	for range n {
		p.a.postRecv(p.a.recvAt(0, 64))
	}
	t.kill()
	t.await("flushes", func() bool { return len(p.a.received) == n }, p.a.owner)
	p.a.wantFlushed()
	t.wantLost(p.a)
	// What is posted now is flushed as well (G11).
	w := unsignaled(p.a.sendFrom(0, 8))
	p.a.post(w)
	t.await("a flush", func() bool { return len(p.a.sent) == 1 }, p.a.owner)
	t.wantEnded(p.a.sent, []fabric.WR{w})
	t.afterlife()
}

// deathSendWaits kills the peer while messages wait for its receives.
func deathSendWaits(t *trial) {
	p := t.pair(pairConfig{})
	wrs := []fabric.WR{
		p.a.sendFrom(0, 64), unsignaled(p.a.writeTo(p.b.mem.Remote(), 0, 64)),
		p.a.readFrom(p.b.mem.Remote(), 128, 64), unsignaled(p.a.sendFrom(0, 64)), p.a.writeImmTo(p.b.mem.Remote(), 0, 64, 3),
	}
	p.a.postRecv(p.a.recvAt(1024, 64))
	p.a.post(wrs...)
	p.quiet()
	t.kill()
	t.await("completions", func() bool { return len(p.a.sent) == len(wrs) && len(p.a.received) == 1 }, p.a.owner)
	t.wantEnded(p.a.sent, wrs)
	p.a.wantFlushed()
	t.wantLost(p.a)
	p.a.mem.verify("the survivor")
	t.afterlife()
}

// deathReads kills the peer in the middle of a stream of READs from it.
func deathReads(t *trial) {
	const size, window = 32 << 10, 8
	p := t.pair(pairConfig{size: size * window})
	var done atomic.Uint64
	c := t.crew()
	c.run(func() { // owns p.a
		var open []fabric.WR
		for p.a.qp.State() == fabric.StateReady || len(open) > 0 {
			for len(open) < window && p.a.qp.State() == fabric.StateReady {
				w := p.a.readFrom(p.b.mem.Remote().At(len(open)*size), len(open)*size, size)
				p.a.post(w)
				open = append(open, w)
			}
			t.await("a completion", func() bool { return len(p.a.sent) > 0 }, p.a.owner)
			for _, comp := range p.a.sent {
				if comp.ID != open[0].ID {
					t.Fatalf("completion %+v, the oldest request is %#x", comp, open[0].ID)
				}
				if comp.Status == fabric.StatusOK {
					done.Add(1)
				} else {
					t.wantEnded([]fabric.Completion{comp}, open[:1])
				}
				open = open[1:]
			}
			p.a.sent = nil
		}
	})
	t.await("some READs", func() bool { return done.Load() > 100 })
	t.kill()
	c.join()
	t.wantLost(p.a)
	t.afterlife()
}

// deathPeerInitiates kills a peer that has operations under way at us.
func deathPeerInitiates(t *trial) {
	const size = 32 << 10
	p := t.pair(pairConfig{size: 8 * size})
	for range 4 {
		p.a.postRecv(p.a.recvAt(4*size, size))
	}
	for i := range 10 {
		p.b.post(p.b.writeTo(p.a.mem.Remote(), 0, size), p.b.readFrom(p.a.mem.Remote(), size, size))
		if i < 8 {
			p.b.post(p.b.sendFrom(0, size)) // more than there are receives
		}
	}
	t.kill()
	t.wantLost(p.a)
	t.await("receives", func() bool { return len(p.a.received) == 4 }, p.a.owner)
	for i, c := range p.a.received {
		if c.Status != fabric.StatusFlushed && c.Status != fabric.StatusOK {
			t.Fatalf("receive %d completed as %+v", i, c)
		}
		if i > 0 && c.Status == fabric.StatusOK && p.a.received[i-1].Status != fabric.StatusOK {
			t.Fatalf("a message arrived after a flush: %+v", p.a.received)
		}
	}
	t.must("Close", p.a.qp.Close())
	t.must("Region.Close", p.a.mem.Close())
	t.afterlife()
}

// deathMessagesBefore receives what the peer had sent, and had been told was
// received, before it died (G8).
func deathMessagesBefore(t *trial) {
	const n = 16
	p := t.pair(pairConfig{})
	for i := range n + 3 {
		p.a.postRecv(p.a.recvAt(i*16, 16))
	}
	p.b.post(p.numbered(n)...)
	t.await("completions at the sender", func() bool { return len(p.b.sent) == n }, p.a.owner, p.b.owner)
	t.kill()
	t.await("receives", func() bool { return len(p.a.received) == n+3 }, p.a.owner)
	for i, c := range p.a.received {
		if (i < n) != (c.Status == fabric.StatusOK) {
			t.Fatalf("receive %d of %d completed as %+v; %d messages were sent", i, n+3, c, n)
		}
		if got := p.a.mem.Bytes()[i*16 : i*16+16]; i < n && !pattern(i+1).match(got, 0) {
			t.Fatalf("message %d is altered: %x", i, got)
		}
	}
	t.wantLost(p.a)
}

// deathAsleep kills the peer while the survivor sleeps in a waiter.
func deathAsleep(t *trial) {
	p := t.pair(pairConfig{})
	asleep := make(chan struct{}, 1)
	w := t.waiter(p.a.dev, fabric.WaitConfig{
		CQs: p.a.cqs, Spin: time.Nanosecond,
		BeforeSleep: func() {
			select {
			case asleep <- struct{}{}:
			default:
			}
		},
	})
	c := t.crew()
	c.run(func() { // owns p.a
		ended := w.Wait(func() bool {
			p.a.poll()
			return p.a.qp.State() != fabric.StateReady || t.stop.Load()
		}, t.patience())
		if !ended {
			t.Fatalf("the peer died and the sleeper was not woken")
		}
		t.wantLost(p.a)
	})
	select {
	case <-asleep:
	case <-time.After(t.patience()):
		t.Fatalf("the waiter does not sleep")
	}
	t.kill()
	c.join()
	t.afterlife()
}

// deathMany has one device with many connections die.
func deathMany(t *trial) {
	const n = 24
	a := t.owner(t.world.A, t.domain(t.world.A), n*32, false)
	b := t.owner(t.world.B, t.domain(t.world.B), n*32, false)
	c := pairConfig{sendDepth: 16, recvDepth: 16, size: 4096}
	var other *pair
	if d := t.fresh(); d != nil {
		other = t.connect(t.owner(t.world.A, t.domain(t.world.A), 128, false), t.owner(d, t.domain(d), 128, false),
			pairConfig{size: t.slots(2)})
	}
	var pairs []*pair
	for i := range n {
		p := t.connect(a, b, c)
		p.a.postRecv(p.a.recvAt(0, 64))
		if i%2 == 0 {
			p.a.post(p.a.sendFrom(0, 8))
		}
		pairs = append(pairs, p)
	}
	t.kill()
	for i, p := range pairs {
		t.wantLost(p.a)
		want := (i + 1) % 2
		t.await("flushes", func() bool { return len(p.a.received) == 1 && len(p.a.sent) == want }, a)
	}
	if other != nil {
		other.sendOne(other.b, variant{size: 10, signaled: true}, "a message between survivors")
		other.sendOne(other.a, variant{size: 10, signaled: true}, "an answer between survivors")
	}
	t.afterlife()
}

// deathDatagrams sends to a queue pair that died: dropped, without an error.
func deathDatagrams(t *trial) {
	t.need(fabric.UD)
	p := t.pair(pairConfig{tr: fabric.UD})
	p.a.postRecv(p.a.recvAt(0, 64))
	p.do(p.a, p.a.sendFrom(0, 64))
	t.kill()
	for range 200 {
		p.a.post(p.a.sendFrom(0, 64))
		t.await("a completion", func() bool { return len(p.a.sent) > 0 }, p.a.owner)
		p.a.takeSent(1)
	}
	if s := p.a.qp.State(); s != fabric.StateReady {
		t.Fatalf("a datagram queue pair broke because a peer died: %v", p.a.qp.Err())
	}
}

// dying dials from B until its context ends.
func (t *trial) dying(c *crew, l fabric.Listener) context.CancelFunc {
	o := t.owner(t.world.B, t.domain(t.world.B), 128, false)
	ctx, cancel := t.contextWithStop()
	c.run(func() {
		qp, err := t.world.B.Dial(ctx, l.Addr(), pairConfig{}.withDefaults().config(o), []byte("dying"))
		if err == nil {
			t.keep(&t.qps, "QP", true, qp.Close)
		}
	})
	return cancel
}

// acceptLiving accepts until it gets a request of a living dialer; requests of
// the dead may be gone, fail, or make queue pairs that break.
func (t *trial) acceptLiving(l fabric.Listener) {
	o := t.owner(t.world.A, t.domain(t.world.A), 512, false)
	for {
		req, err := l.Accept(t.ctx())
		t.must("Listener.Accept", err)
		living := string(req.Private()) == "living"
		cfg := pairConfig{}.withDefaults().config(o)
		qp, err := req.Accept(t.ctx(), cfg, nil)
		if living {
			t.must("Accept of a living peer", err)
			o.add(qp, cfg, nil)
			return
		}
		if err != nil {
			continue
		}
		e := o.add(qp, cfg, nil)
		t.await("the queue pair of a dead peer to break", func() bool { return e.qp.State() == fabric.StateError }, o)
	}
}

// dialLiving dials from a fresh device, or from nowhere when the world has
// none.
func (t *trial) dialLiving(c *crew, l fabric.Listener) bool {
	d := t.fresh()
	if d == nil {
		return false
	}
	o := t.owner(d, t.domain(d), 128, false)
	c.run(func() {
		qp, err := d.Dial(t.ctx(), l.Addr(), pairConfig{}.withDefaults().config(o), []byte("living"))
		t.must("Dial of a living device", err)
		t.keep(&t.qps, "QP", false, qp.Close)
	})
	return true
}

// deathRequestWaits kills a dialer whose request waits for Accept.
func deathRequestWaits(t *trial) {
	l := t.newListener(fabric.ListenConfig{Backlog: 8, HandshakeTimeout: time.Second})
	c := t.crew()
	var cancels []context.CancelFunc
	for range 3 {
		cancels = append(cancels, t.dying(c, l))
	}
	t.settle(func() bool { return false }) // the requests are under way
	t.kill()
	if t.dialLiving(c, l) {
		t.acceptLiving(l)
	}
	for _, cancel := range cancels {
		cancel()
	}
	c.join()
}

// deathRequestTaken kills a dialer between Listener.Accept and Accept.
func deathRequestTaken(t *trial) {
	l := t.newListener(fabric.ListenConfig{HandshakeTimeout: time.Second})
	o := t.owner(t.world.A, t.domain(t.world.A), 512, false)
	c := t.crew()
	cancel := t.dying(c, l)
	req, err := l.Accept(t.ctx())
	t.must("Listener.Accept", err)
	if string(req.Private()) != "dying" {
		t.Fatalf("private data is %q", req.Private())
	}
	t.kill()
	cfg := pairConfig{}.withDefaults().config(o)
	if qp, err := req.Accept(t.ctx(), cfg, nil); err == nil {
		e := o.add(qp, cfg, nil)
		t.await("the queue pair of a dead peer to break", func() bool { return e.qp.State() == fabric.StateError }, o)
		t.wantErr("Err", qp.Err(), fabric.ErrPeerLost, fabric.ErrDisconnected)
	} else if qp != nil {
		t.Fatalf("Accept returned a queue pair and %v", err)
	}
	cancel()
	c.join()
	if t.dialLiving(c, l) {
		t.acceptLiving(l)
	}
	c.join()
}
