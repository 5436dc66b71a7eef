package fabrictest

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/fabric"
)

func backlogCases() []*testCase {
	return join(
		one("connect/backlog", ruleBacklog, backlogFull),
		one("connect/close-wakes-accept", ruleAccept, closeWakesAccept),
		one("connect/accept-context", ruleAccept, acceptContext),
		one("connect/close-refuses", ruleUnlist, closeRefuses),
		one("connect/close-keeps", ruleUnlist, closeKeeps),
		one("connect/answer-once", "It must be accepted or rejected, once.", answerOnce),
		one("connect/device-close", "Close breaks every queue pair, stops every listener and releases the device.", deviceClose),
	)
}

// backlogFull has more dialers than the backlog holds.
func backlogFull(t *trial) {
	const backlog, dialers = 3, 8
	l := t.newListener(fabric.ListenConfig{Backlog: backlog})
	a := t.owner(t.world.A, t.domain(t.world.A), 4096, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	c := t.crew()
	results := make(chan dialed, dialers)
	for range dialers {
		ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil)
		c.run(func() { results <- <-ch })
	}
	for i := range dialers - backlog {
		select {
		case d := <-results:
			if !errors.Is(d.err, fabric.ErrRefused) {
				t.Fatalf("Dial returned without an Accept: %v, %v", d.qp, d.err)
			}
		case <-time.After(t.patience()):
			t.Fatalf("%d of %d dialers were refused, the backlog is %d", i, dialers, backlog)
		}
	}
	for range backlog {
		t.take(t.accept(l), a, nil)
		d := <-results
		t.must("Dial from the backlog", d.err)
	}
	c.join()
	// There is room again.
	ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil)
	t.take(t.accept(l), a, nil)
	t.must("Dial after the backlog was full", (<-ch).err)
	c.join()
}

func closeWakesAccept(t *trial) {
	l := t.newListener(fabric.ListenConfig{})
	c := t.crew()
	const n = 3
	waiting := make(chan struct{}, n)
	for range n {
		c.run(func() {
			waiting <- struct{}{}
			req, err := l.Accept(t.ctx())
			if req != nil || !errors.Is(err, fabric.ErrClosed) {
				t.Errorf("Accept on a listener that was closed returned %v, %v", req, err)
			}
		})
	}
	for range n {
		<-waiting
	}
	t.linger()
	t.must("Listener.Close", l.Close())
	c.join()
	if req, err := l.Accept(t.ctx()); req != nil || !errors.Is(err, fabric.ErrClosed) {
		t.Fatalf("Accept on a closed listener returned %v, %v", req, err)
	}
}

func acceptContext(t *trial) {
	l := t.listener()
	ctx, cancel := context.WithCancel(context.Background())
	c := t.crew()
	c.run(func() {
		if req, err := l.Accept(ctx); req != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("Accept with a cancelled context returned %v, %v", req, err)
		}
	})
	t.linger()
	cancel()
	c.join()
	soon, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	if req, err := l.Accept(soon); req != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Accept with a deadline returned %v, %v", req, err)
	}
	p := t.pair(pairConfig{size: t.slots(2)})
	p.sendOne(p.b, variant{size: 8, signaled: true}, "a message after Accept was cancelled")
}

// closeRefuses closes a listener while dialers wait.
func closeRefuses(t *trial) {
	l := t.newListener(fabric.ListenConfig{})
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	c := t.crew()
	var chans []<-chan dialed
	for range 4 {
		chans = append(chans, t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil))
	}
	t.settle(func() bool { return false }) // the requests are under way
	t.must("Listener.Close", l.Close())
	for _, ch := range chans {
		if d := <-ch; !errors.Is(d.err, fabric.ErrRefused) {
			t.Fatalf("the listener was closed, and Dial returned %v", d.err)
		}
	}
	c.join()
}

func closeKeeps(t *trial) {
	p := t.pair(pairConfig{size: t.slots(2)})
	t.must("Listener.Close", t.listen.Close())
	for i := range 20 {
		p.sendOne(p.b, variant{size: i, signaled: true}, "a message after the listener was closed")
		p.sendOne(p.a, variant{size: i, signaled: true}, "an answer after the listener was closed")
	}
}

// answerOnce answers a request twice; the second answer changes nothing.
func answerOnce(t *trial) {
	l := t.listener()
	a := t.owner(t.world.A, t.domain(t.world.A), 4096, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 4096, false)
	c := t.crew()
	ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil)
	req := t.accept(l)
	qa := t.take(req, a, nil)
	if qp, err := req.Accept(t.ctx(), pairConfig{}.withDefaults().config(a), nil); qp != nil || err == nil {
		t.Fatalf("second Accept returned %v, %v", qp, err)
	}
	if err := req.Reject(nil); err == nil {
		t.Fatalf("Reject after Accept returned no error")
	}
	d := <-ch
	t.must("Dial", d.err)
	c.join()
	t.linger(a, b)
	if qa.State() != fabric.StateReady || d.qp.State() != fabric.StateReady {
		t.Fatalf("a second answer broke the queue pair: %v, %v", qa.Err(), d.qp.Err())
	}
	ch = t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(b), nil)
	req = t.accept(l)
	t.must("Reject", req.Reject([]byte("no")))
	if qp, err := req.Accept(t.ctx(), pairConfig{}.withDefaults().config(a), nil); qp != nil || err == nil {
		t.Fatalf("Accept after Reject returned %v, %v", qp, err)
	}
	var rejected *fabric.RejectedError
	if d := <-ch; !errors.As(d.err, &rejected) {
		t.Fatalf("Dial returned %v, want a RejectedError", d.err)
	}
	c.join()
}

// deviceClose closes B with everything open.
func deviceClose(t *trial) {
	p, q := t.pair(pairConfig{}), t.pair(pairConfig{})
	for _, e := range []*end{p.a, q.a} {
		e.postRecv(e.recvAt(0, 64))
	}
	c := t.crew()
	l := t.newListener(fabric.ListenConfig{})
	ch := t.dial(t.ctx(), c, l, pairConfig{}.withDefaults().config(t.owner(p.b.dev, p.b.dom, 128, false)), nil)
	req := t.accept(l)
	t.must("Device.Close", t.world.B.Close())
	t.mu.Lock()
	t.killed = true // what is left of B may return errors
	t.mu.Unlock()
	for _, e := range []*end{p.a, q.a} {
		t.await("the peer to notice", func() bool { return e.qp.State() == fabric.StateError && len(e.received) == 1 }, e.owner)
		t.wantErr("Err", e.qp.Err(), fabric.ErrDisconnected, fabric.ErrPeerLost)
		if e.received[0].Status != fabric.StatusFlushed {
			t.Fatalf("receive completed as %+v", e.received[0])
		}
	}
	_ = req.Reject(nil)
	if d := <-ch; d.err == nil {
		t.Fatalf("Dial succeeded on a device that was closed")
	}
	c.join()
	if p.b.qp.State() == fabric.StateReady {
		t.Fatalf("the device is closed and its queue pair is ready")
	}
	if _, err := t.world.B.NewDomain(); !errors.Is(err, fabric.ErrClosed) {
		t.Fatalf("NewDomain on a closed device returned %v", err)
	}
	if _, err := t.world.B.NewCQ(8); !errors.Is(err, fabric.ErrClosed) {
		t.Fatalf("NewCQ on a closed device returned %v", err)
	}
	t.wantErr("second Device.Close", t.world.B.Close(), fabric.ErrClosed)
	t.afterlife()
}
