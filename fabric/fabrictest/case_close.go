package fabrictest

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleGraceful = "After Disconnect or Close of one side, the other side first receives everything that completed before, then " +
		"breaks with ErrDisconnected."
	ruleDisconnect = "It may be called from any goroutine and more than once."
	ruleClose      = "Completions not yet polled are discarded. A second Close returns ErrClosed."
)

func closeCases() []*testCase {
	return join(
		one("G13/graceful-last-words", ruleGraceful, lastWords),
		one("G13/outstanding", ruleGraceful, disconnectOutstanding),
		one("G13/twice", ruleDisconnect, disconnectTwice),
		one("G13/both-sides", ruleDisconnect, disconnectBoth),
		each("G13/while-posting", ruleDisconnect, disconnectWhilePosting, fabric.RC, fabric.UC),
		one("G13/storm", ruleDisconnect, disconnectStorm),
		each("G13/after-close", ruleClose, afterClose, fabric.RC, fabric.UC, fabric.UD),
		each("G13/discard", ruleClose, closeDiscards, fabric.RC),
		each("G13/close-outstanding", ruleClose, closeOutstanding, fabric.RC),
	)
}

// wantDisconnected checks that e broke because the other side ended.
func (t *trial) wantDisconnected(e *end) {
	t.Helper()
	t.await("the end of the connection", func() bool { return e.qp.State() == fabric.StateError }, e.owner)
	t.wantErr("Err", e.qp.Err(), fabric.ErrDisconnected)
	select {
	case <-e.qp.Done():
	default:
		t.Fatalf("State is error and Done is not closed")
	}
}

// lastWords sends and ends at once, without waiting: what completed arrives.
func lastWords(t *trial) {
	for round := range t.times(60) {
		const n = 8
		p := t.pair(pairConfig{size: 4096})
		for k := range n {
			p.a.postRecv(p.a.recvAt(k*16, 16))
		}
		p.b.post(p.numbered(n)...)
		for range round % 4 {
			p.b.poll()
		}
		t.must("Disconnect", p.b.qp.Disconnect())
		t.await("all completions", func() bool { return len(p.b.sent) == n && len(p.a.received) == n }, p.a.owner, p.b.owner)
		sent, arrived := 0, 0
		for k := range n {
			if p.b.sent[k].Status == fabric.StatusOK {
				if sent != k {
					t.Fatalf("round %d: success after a flush: %+v", round, p.b.sent)
				}
				sent++
			}
			if p.a.received[k].Status == fabric.StatusOK {
				if arrived != k || !pattern(k+1).match(p.a.mem.Bytes()[k*16:k*16+16], 0) {
					t.Fatalf("round %d: message %d came out of order or altered", round, k)
				}
				arrived++
			}
		}
		if arrived < sent {
			t.Fatalf("round %d: %d messages completed at the sender, %d arrived", round, sent, arrived)
		}
		t.wantDisconnected(p.a)
		t.must("Close", p.a.qp.Close())
		t.must("Close", p.b.qp.Close())
	}
}

// disconnectOutstanding ends a connection while requests of both sides wait.
func disconnectOutstanding(t *trial) {
	const n = 10
	p := t.pair(pairConfig{})
	for _, e := range []*end{p.a, p.b} {
		var wrs []fabric.WR
		for i := range n {
			w := e.sendFrom(0, 64)
			if i%2 == 1 {
				w = unsignaled(e.writeTo(p.other(e).mem.Remote(), 0, 64))
			}
			wrs = append(wrs, w)
		}
		e.post(wrs...) // the first waits for a receive, the rest behind it
	}
	p.quiet()
	t.must("Disconnect", p.b.qp.Disconnect())
	p.await("flushes", func() bool { return len(p.a.sent) == n && len(p.b.sent) == n })
	for _, e := range []*end{p.a, p.b} {
		last := uint64(0)
		for i, c := range e.sent {
			if c.Status != fabric.StatusFlushed || c.ID <= last {
				t.Fatalf("completion %d is %+v, want it flushed and in order", i, c)
			}
			last = c.ID
		}
		e.sent = nil
	}
	t.wantDisconnected(p.a)
	p.b.wantBroken(fabric.ErrClosed, fabric.ErrDisconnected)
	p.a.mem.verify("A")
	p.b.mem.verify("B")
	p.quiet()
}

func disconnectTwice(t *trial) {
	p := t.pair(pairConfig{})
	for range 3 {
		t.must("Disconnect", p.b.qp.Disconnect())
	}
	t.wantDisconnected(p.a)
	for range 3 {
		t.must("Disconnect of the other side", p.a.qp.Disconnect())
		t.must("Disconnect", p.b.qp.Disconnect())
	}
	t.wantDisconnected(p.a) // the first reason stays
	t.must("Close", p.b.qp.Close())
	t.wantErr("second Close", p.b.qp.Close(), fabric.ErrClosed)
	t.must("Close", p.a.qp.Close())
	t.wantErr("second Close", p.a.qp.Close(), fabric.ErrClosed)
	_ = p.a.qp.Disconnect() // does no harm
	for _, e := range []*end{p.a, p.b} {
		if e.qp.State() != fabric.StateClosed || e.qp.Err() == nil {
			t.Fatalf("a closed queue pair is %v, %v", e.qp.State(), e.qp.Err())
		}
	}
}

// disconnectBoth has both sides end at the same time.
func disconnectBoth(t *trial) {
	for range t.times(60) {
		p := t.pair(pairConfig{size: 4096})
		p.a.postRecv(p.a.recvAt(0, 64))
		p.b.postRecv(p.b.recvAt(0, 64))
		c := t.crew()
		c.run(func() { t.must("Disconnect", p.a.qp.Disconnect()) })
		c.run(func() { t.must("Disconnect", p.b.qp.Disconnect()) })
		c.join()
		p.await("flushes", func() bool { return len(p.a.received) == 1 && len(p.b.received) == 1 })
		p.a.wantFlushed()
		p.b.wantFlushed()
		p.a.wantBroken(fabric.ErrClosed, fabric.ErrDisconnected)
		p.b.wantBroken(fabric.ErrClosed, fabric.ErrDisconnected)
		t.must("Close", p.a.qp.Close())
		t.must("Close", p.b.qp.Close())
	}
}

// fullSpeed posts all kinds of requests and receives at e, and polls, until
// the queue pair has broken and everything came back, in order.
func (p *pair) fullSpeed(e *end, started *atomic.Int64) {
	t, target := p.t, p.other(e).mem
	var open, openRecv []uint64
	broken := false
	for i := 0; !broken || len(open)+len(openRecv) > 0; i++ {
		t.check()
		if !broken {
			broken = e.qp.State() != fabric.StateReady
			w := e.writeTo(target.Remote().At(1024), 0, 512)
			if i%3 == 0 {
				w = e.sendFrom(0, 64)
			}
			if _, err := e.qp.Post([]fabric.WR{w}); err == nil {
				open = append(open, w.ID)
			} else if !errors.Is(err, fabric.ErrQueueFull) {
				t.Fatalf("Post: %v", err)
			}
			r := e.recvAt(2048, 64)
			if _, err := e.qp.PostRecv([]fabric.RecvWR{r}); err == nil {
				openRecv = append(openRecv, r.ID)
			} else if !errors.Is(err, fabric.ErrQueueFull) {
				t.Fatalf("PostRecv: %v", err)
			}
		}
		if e.poll() == 0 {
			runtime.Gosched()
		}
		open = e.retire(&e.sent, open)
		openRecv = e.retire(&e.received, openRecv)
		started.Add(1)
	}
}

// retire checks completions against the requests that are open.
func (e *end) retire(got *[]fabric.Completion, open []uint64) []uint64 {
	for _, c := range *got {
		if len(open) == 0 || c.ID != open[0] {
			e.t.Fatalf("completion %+v, open are %x", c, open[:min(len(open), 4)])
		}
		if c.Status != fabric.StatusOK && c.Status != fabric.StatusFlushed {
			e.t.Fatalf("completion %+v, want success or a flush", c)
		}
		open = open[1:]
	}
	*got = (*got)[:0]
	return open
}

// disconnectWhilePosting ends the connection from a third goroutine while both
// owners are busy.
func disconnectWhilePosting(t *trial, tr fabric.Transport) {
	for round := range t.times(24) {
		p := t.pair(pairConfig{tr: tr, sendDepth: 16, recvDepth: 16, size: 4096})
		c := t.crew()
		var started atomic.Int64
		c.run(func() { p.fullSpeed(p.a, &started) })
		c.run(func() { p.fullSpeed(p.b, &started) })
		t.await("both to be busy", func() bool { return started.Load() > int64(20+10*round) })
		e := p.a
		if round%2 == 0 {
			e = p.b
		}
		t.must("Disconnect", e.qp.Disconnect())
		c.join()
		t.wantErr("Err of the other side", p.other(e).qp.Err(), fabric.ErrDisconnected)
		t.must("Close", p.a.qp.Close())
		t.must("Close", p.b.qp.Close())
	}
}

// disconnectStorm ends many busy connections at once, from both sides.
func disconnectStorm(t *trial) {
	const n = 12
	for range t.times(2) {
		c := t.crew()
		var started atomic.Int64
		var pairs []*pair
		for range n {
			p := t.pair(pairConfig{sendDepth: 16, recvDepth: 16, size: 4096})
			pairs = append(pairs, p)
			c.run(func() { p.fullSpeed(p.a, &started) })
			c.run(func() { p.fullSpeed(p.b, &started) })
		}
		t.await("all to be busy", func() bool { return started.Load() > 50*n })
		rng := t.random(0)
		for _, p := range pairs {
			e := []*end{p.a, p.b}[rng.IntN(2)]
			c.run(func() { t.must("Disconnect", e.qp.Disconnect()) })
			if rng.IntN(3) == 0 {
				c.run(func() { t.must("Disconnect", p.other(e).qp.Disconnect()) })
			}
		}
		c.join()
		for _, p := range pairs {
			t.must("Close", p.a.qp.Close())
			t.must("Close", p.b.qp.Close())
		}
	}
}

// afterClose posts to a closed queue pair.
func afterClose(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	w, r := p.b.sendFrom(0, 8), p.b.recvAt(0, 8)
	t.must("Close", p.b.qp.Close())
	if n, err := p.b.qp.Post([]fabric.WR{w}); n != 0 || !errors.Is(err, fabric.ErrClosed) {
		t.Fatalf("Post to a closed queue pair returned %d, %v", n, err)
	}
	if n, err := p.b.qp.PostRecv([]fabric.RecvWR{r}); n != 0 || !errors.Is(err, fabric.ErrClosed) {
		t.Fatalf("PostRecv to a closed queue pair returned %d, %v", n, err)
	}
	if s := p.b.qp.State(); s != fabric.StateClosed {
		t.Fatalf("the state of a closed queue pair is %v", s)
	}
	t.wantErr("Err of a closed queue pair", p.b.qp.Err(), fabric.ErrClosed)
	select {
	case <-p.b.qp.Done():
	default:
		t.Fatalf("Close left Done open")
	}
	t.wantErr("second Close", p.b.qp.Close(), fabric.ErrClosed)
	if tr != fabric.UD {
		t.wantDisconnected(p.a)
	} else if s := p.a.qp.State(); s != fabric.StateReady {
		t.Fatalf("a datagram queue pair broke because another was closed: %v", p.a.qp.Err())
	}
}

// closeDiscards closes a queue pair with completions that were not polled;
// those of its neighbour on the same completion queue stay.
func closeDiscards(t *trial, tr fabric.Transport) {
	const n = 16
	a := t.owner(t.world.A, t.domain(t.world.A), 512, false)
	b := t.owner(t.world.B, t.domain(t.world.B), 512, false)
	c := pairConfig{tr: tr, size: 4096}
	for range t.times(20) {
		p, q := t.connect(a, b, c), t.connect(a, b, c)
		for range n {
			p.b.post(p.b.writeTo(p.a.mem.Remote(), 0, 64))
			q.b.post(q.b.writeTo(q.a.mem.Remote(), 0, 64))
			p.b.postRecv(p.b.recvAt(0, 8))
		}
		delete(b.ends, p.b.qp.Num()) // a completion of it would be a failure now
		t.must("Close", p.b.qp.Close())
		q.sends(q.b, n)
		t.linger(b)
		for _, e := range []*end{p.a, q.a, q.b} {
			t.must("Close", e.qp.Close())
		}
	}
}

// closeOutstanding closes queue pairs in the middle of everything, many times.
func closeOutstanding(t *trial, tr fabric.Transport) {
	for i := range t.times(40) {
		p := t.pair(pairConfig{tr: tr, size: 128 << 10})
		for range 8 {
			p.a.postRecv(p.a.recvAt(0, 64))
			p.b.postRecv(p.b.recvAt(0, 64))
		}
		for range 8 {
			p.b.post(p.b.sendFrom(0, 64), p.b.writeTo(p.a.mem.Remote(), 0, 64<<10), p.b.readFrom(p.a.mem.Remote(), 0, 64<<10))
			p.a.post(p.a.sendFrom(0, 64), p.a.sendFrom(0, 64))
		}
		for range i % 5 {
			p.a.poll()
			p.b.poll()
		}
		first, second := p.a, p.b
		if i%2 == 0 {
			first, second = p.b, p.a
		}
		t.must("Close", first.qp.Close())
		if i%3 == 0 {
			t.wantDisconnected(second)
		}
		t.must(fmt.Sprintf("Close %d of the other side", i), second.qp.Close())
	}
}
