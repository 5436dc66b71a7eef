package fabrictest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

func sleepCases() []*testCase {
	return join(
		each("G17/wakes/message", ruleEvents, wakesMessage, fabric.RC, fabric.UC, fabric.UD),
		one("G17/wakes/send-completion", ruleEvents, wakesSend),
		one("G17/wakes/rnr-timeout", ruleEvents, wakesRNR),
		one("G17/wakes/own-disconnect", ruleEvents, wakesOwnDisconnect),
		one("G17/wakes/error", ruleEvents, wakesError),
		one("G17/wakes/new-queue-pair", ruleEvents, wakesNewQP),
		one("G17/wakes/any-cq", ruleEvents, wakesAnyCQ),
		one("G17/write-wakes-no-thread", ruleNoThread, writeWakesNoThread),
		one("G17/ping-pong-shared-cq", ruleNoneLost, pingPongShared),
		one("G17/announced-sleep", "A path publishes there that it has to be woken.", announcedSleep),
	)
}

// wakesMessage has each kind of message wake a sleeper.
func wakesMessage(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr})
	s := t.sleeper(p.a.owner, fabric.WaitConfig{})
	for i := range t.times(60) {
		p.a.postRecv(p.a.recvAt(0, 64))
		c := t.crew()
		c.run(func() { // owns p.a
			s.until("a message", func() bool { return len(p.a.received) > 0 })
			p.a.takeReceived(1)
		})
		s.asleep()
		for range attempts(tr) {
			w := p.b.sendFrom(0, 64)
			if tr != fabric.UD && i%2 == 1 {
				w = p.b.writeImmTo(p.a.mem.Remote().At(1024), 0, 64, 1)
			}
			p.b.post(w)
			p.b.wait1("the message to leave")
			if tr == fabric.RC || t.settle(func() bool { return !s.sleeping.Load() }) {
				break
			}
		}
		c.join()
	}
	s.wantSlept()
	s.wantNoLateWake()
}

// wakesSend has the sleeper wait for a completion of its own request, which
// the peer's receive allows.
func wakesSend(t *trial) {
	p := t.pair(pairConfig{})
	s := t.sleeper(p.b.owner, fabric.WaitConfig{})
	for i := range t.times(60) {
		c := t.crew()
		c.run(func() { // owns p.b
			p.b.post(p.b.messages(p.a.mem)[i%2], p.b.readFrom(p.a.mem.Remote(), 1024, 4096))
			s.until("the completions", func() bool { return len(p.b.sent) == 2 })
			p.b.takeSent(2)
		})
		s.asleep()
		p.a.postRecv(p.a.recvAt(0, 64))
		t.await("the message", func() bool { return len(p.a.received) > 0 }, p.a.owner)
		p.a.takeReceived(1)
		c.join()
	}
	s.wantSlept()
	s.wantNoLateWake()
}

// wakesRNR sleeps until a request fails for want of a receive.
func wakesRNR(t *trial) {
	for _, solicited := range []bool{false, true} {
		p := t.pair(pairConfig{rnr: 20 * time.Millisecond})
		s := t.sleeper(p.b.owner, fabric.WaitConfig{SolicitedOnly: solicited})
		w := p.b.sendFrom(0, 8)
		p.b.post(w)
		s.until("the failure", func() bool { return len(p.b.sent) > 0 })
		p.b.wantFailure(w, fabric.StatusRNRExceeded)
		s.wantNoLateWake()
	}
}

func wakesOwnDisconnect(t *trial) {
	for i := range t.times(30) {
		p := t.pair(pairConfig{size: 4096})
		s := t.sleeper(p.a.owner, fabric.WaitConfig{SolicitedOnly: i%2 == 1})
		p.a.postRecv(p.a.recvAt(0, 8))
		c := t.crew()
		c.run(func() { // owns p.a
			s.until("the flush", func() bool { return len(p.a.received) > 0 })
			p.a.wantFlushed()
		})
		s.asleep()
		t.must("Disconnect", p.a.qp.Disconnect())
		c.join()
		s.wantNoLateWake()
		t.must("Waiter.Close", s.Close())
	}
}

// wakesError has the peer's mistake break the sleeper's queue pair.
func wakesError(t *trial) {
	for i := range t.times(30) {
		p := t.pair(pairConfig{size: 4096})
		s := t.sleeper(p.a.owner, fabric.WaitConfig{SolicitedOnly: i%2 == 1})
		p.a.postRecv(p.a.recvAt(0, 8))
		c := t.crew()
		c.run(func() { // owns p.a
			s.until("the flush", func() bool { return len(p.a.received) > 0 })
		})
		s.asleep()
		w := p.b.sendFrom(0, 9) // one byte too many
		if i%4 < 2 {
			w = p.b.writeTo(fabric.Remote{Addr: 1, Key: 1}, 0, 8)
		}
		p.b.post(w)
		t.await("the failure", func() bool { return len(p.b.sent) > 0 }, p.b.owner)
		c.join()
		if p.a.received[0].Status == fabric.StatusOK {
			t.Fatalf("a wrong request gave a good receive: %+v", p.a.received[0])
		}
		s.wantNoLateWake()
		t.must("Waiter.Close", s.Close())
	}
}

// wakesNewQP has a queue pair join the completion queue of a sleeper, which is
// then woken by it (T3).
func wakesNewQP(t *trial) {
	a := t.owner(t.world.A, t.domain(t.world.A), 4096, false)
	s := t.sleeper(a, fabric.WaitConfig{})
	pc := pairConfig{sendDepth: 8, recvDepth: 8, size: 4096}.withDefaults()
	for range t.times(20) {
		b := t.owner(t.world.B, t.domain(t.world.B), 64, false)
		var joined atomic.Pointer[fabric.QP]
		var posted, sent atomic.Bool
		m := t.mem(a.dom, pc.size, everything)
		c := t.crew()
		c.run(func() { // owns a
			for joined.Load() == nil {
				t.check()
				s.Wait(func() bool { a.poll(); return joined.Load() != nil || t.stop.Load() }, t.patience())
			}
			e := a.add(*joined.Load(), pc.config(a), m)
			e.postRecv(e.recvAt(0, 8))
			posted.Store(true)
			// The Wake may still be pending, and then ends the first Wait.
			got := func() bool { a.poll(); return len(e.received) > 0 || t.stop.Load() }
			woken := s.Wait(got, t.patience())
			if !woken {
				woken = s.Wait(got, t.patience())
			}
			if !woken {
				t.Fatalf("a message on a new queue pair did not wake the sleeper")
			}
			t.check()
			e.takeReceived(1)
			// Who closes before the sender knows that its message arrived may
			// make it fail.
			t.await("the sender", sent.Load, a)
			t.must("Close", e.qp.Close())
		})
		s.asleep()
		qa, qb := t.handshake(a, b, pc)
		joined.Store(&qa)
		s.Wake()
		t.await("the receive", posted.Load)
		s.asleep()
		e := b.add(qb, pc.config(b), t.mem(b.dom, pc.size, everything))
		e.post(e.sendFrom(0, 8))
		e.wait1("the message to arrive")
		sent.Store(true)
		c.join()
	}
	s.wantNoLateWake()
}

// wakesAnyCQ has a waiter over several completion queues, and each wakes it.
func wakesAnyCQ(t *trial) {
	const n = 5
	pc := pairConfig{size: 4096}.withDefaults()
	all := t.owner(t.world.A, t.domain(t.world.A), 8, false) // polls all of them
	var pairs []*pair
	for range n {
		a := t.owner(t.world.A, t.domain(t.world.A), 128, true)
		p := t.connect(a, t.owner(t.world.B, t.domain(t.world.B), 128, false), pc)
		all.cqs = append(all.cqs, a.cqs...)
		all.ends[p.a.qp.Num()] = p.a
		pairs = append(pairs, p)
	}
	s := t.sleeper(all, fabric.WaitConfig{})
	rng := t.random(0)
	for range t.times(60) {
		p := pairs[rng.IntN(n)]
		c := t.crew()
		bySend := rng.IntN(2) == 0
		c.run(func() { // owns all
			if bySend {
				p.a.post(p.a.sendFrom(0, 8))
				s.until("a send completion", func() bool { return len(p.a.sent) > 0 })
				p.a.takeSent(1)
			} else {
				p.a.postRecv(p.a.recvAt(0, 8))
				s.until("a message", func() bool { return len(p.a.received) > 0 })
				p.a.takeReceived(1)
			}
		})
		s.asleep()
		if bySend {
			p.b.postRecv(p.b.recvAt(0, 8))
			t.await("the message", func() bool { return len(p.b.received) > 0 }, p.b.owner)
			p.b.takeReceived(1)
		} else {
			p.b.post(p.b.sendFrom(0, 8))
			p.b.wait1("the message to arrive")
		}
		c.join()
	}
	s.wantSlept()
	s.wantNoLateWake()
}

// writeWakesNoThread writes to a sleeper, which notices only when woken.
func writeWakesNoThread(t *trial) {
	p := t.pair(pairConfig{})
	s := t.sleeper(p.a.owner, fabric.WaitConfig{})
	const n = 60
	flag := &p.a.mem.Bytes()[63]
	p.a.mem.put(0, make([]byte, 64))
	p.b.mem.put(0, make([]byte, 64))
	var seen atomic.Bool
	c := t.crew()
	c.run(func() { // owns p.a
		s.Wait(func() bool {
			p.a.poll()
			seen.Store(fence.ObserveByte(flag) == 1)
			return t.stop.Load()
		}, t.patience())
	})
	for range n {
		s.undisturbed(func() {
			p.b.post(p.b.writeTo(p.a.mem.Remote(), 0, 64))
			p.b.wait1("a WRITE")
		})
	}
	if woken := int(s.roused.Load()); woken > n/2 {
		t.Fatalf("%d WRITEs woke the sleeper %d times", n, woken)
	}
	p.b.mem.put(63, []byte{1})
	p.b.post(p.b.writeTo(p.a.mem.Remote(), 0, 64))
	p.b.wait1("the last WRITE")
	s.Wake()
	c.join()
	if !seen.Load() {
		t.Fatalf("a sleeper that was woken did not see what was written before")
	}
	s.wantSlept()
}

// ping sends and waits for the answer, n times; wait and pause are the
// caller's way of waiting and of passing time.
func (e *end) ping(n int, wait func(string, func() bool), pause func()) {
	for i := range n {
		e.postRecv(e.recvAt(64, 8))
		e.mem.putWord(0, uint64(i))
		e.post(e.sendFrom(0, 8))
		pause()
		wait("the answer", func() bool { return len(e.received) > 0 && len(e.sent) > 0 })
		e.takeReceived(1)
		e.takeSent(1)
		if got := e.mem.word(64); got != uint64(i) {
			e.t.Fatalf("answer %d to question %d", got, i)
		}
	}
}

// pong answers n times.
func (e *end) pong(n int, wait func(string, func() bool), pause func()) {
	e.postRecv(e.recvAt(64, 8))
	for i := range n {
		wait("the question", func() bool { return len(e.received) > 0 })
		e.takeReceived(1)
		if got := e.mem.word(64); got != uint64(i) {
			e.t.Fatalf("question %d, want %d", got, i)
		}
		pause()
		e.mem.putWord(0, uint64(i))
		if i < n-1 {
			e.postRecv(e.recvAt(64, 8))
		}
		e.post(e.sendFrom(0, 8))
		wait("the answer to leave", func() bool { return len(e.sent) > 0 })
		e.takeSent(1)
	}
}

// dawdle passes a random, short time without sleeping.
func dawdle(rng *rand.Rand) func() {
	return func() {
		switch rng.IntN(4) {
		case 0:
		case 1:
			runtime.Gosched()
		case 2:
			for range rng.IntN(30) {
				runtime.Gosched()
			}
		default:
			fence.PauseN(rng.IntN(2000))
		}
	}
}

// pingPongShared has one sleeper answer several others.
func pingPongShared(t *trial) {
	const n = 4
	a := t.owner(t.world.A, t.domain(t.world.A), 512, false)
	s := t.sleeper(a, fabric.WaitConfig{})
	rounds := t.times(300)
	c := t.crew()
	var ends []*end
	for i := range n {
		b := t.owner(t.world.B, t.domain(t.world.B), 128, false)
		p := t.connect(a, b, pairConfig{size: 4096})
		ends = append(ends, p.a)
		p.a.postRecv(p.a.recvAt(64, 8))
		sb := t.sleeper(b, fabric.WaitConfig{})
		c.run(func() {
			p.b.ping(rounds, sb.until, dawdle(t.random(i)))
			sb.wantNoLateWake()
		})
	}
	c.run(func() { serveAll(s, ends, n*rounds) })
	c.join()
	s.wantNoLateWake()
}

// serveAll answers total questions that come from many.
func serveAll(s *sleeper, ends []*end, total int) {
	pause := dawdle(s.o.t.random(len(ends)))
	open := make([]int, len(ends)) // answers in flight, per end
	reap := func() (left int) {
		for i, e := range ends {
			open[i] -= len(e.takeSent(len(e.sent)))
			left += open[i]
		}
		return left
	}
	ready := func(i int) bool { return len(ends[i].received) > 0 && open[i] == 0 }
	for answered := 0; answered < total; {
		s.until("a question", func() bool {
			reap()
			for i := range ends {
				if ready(i) {
					return true
				}
			}
			return false
		})
		for i, e := range ends {
			if !ready(i) {
				continue
			}
			e.takeReceived(1)
			answered++
			e.mem.putWord(0, e.mem.word(64))
			e.postRecv(e.recvAt(64, 8))
			pause()
			e.post(e.sendFrom(0, 8))
			open[i]++
		}
	}
	s.until("the last answers", func() bool { return reap() == 0 })
}

// announcedSleep is how a path lets its server sleep: requests are WRITEs, the
// server publishes in its memory that it sleeps, and the client, which reads
// that after its WRITE, rings.
func announcedSleep(t *trial) {
	const request, flag = 0, 512
	p := t.pair(pairConfig{})
	p.a.mem.putWord(request, 0)
	p.a.mem.putWord(flag, 0)
	n := t.times(1500)
	flagWord, requestWord := fence.Word(p.a.mem.Bytes(), flag), fence.Word(p.a.mem.Bytes(), request)
	var served atomic.Uint64
	w := t.waiter(p.a.dev, fabric.WaitConfig{
		CQs: p.a.cqs, Spin: time.Nanosecond,
		BeforeSleep: func() { fence.Announce64(flagWord, 1) },
		AfterSleep:  func() { fence.Publish64(flagWord, 0) },
	})
	c := t.crew()
	p.a.postRecv(p.a.recvAt(1024, 0), p.a.recvAt(1024, 0))
	c.run(func() { // the server owns p.a
		pause := dawdle(t.random(0))
		for i := uint64(1); i <= uint64(n); i++ {
			ok := w.Wait(func() bool {
				p.a.poll()
				for range p.a.received {
					p.a.postRecv(p.a.recvAt(1024, 0))
				}
				p.a.takeReceived(len(p.a.received))
				return fence.Observe64(requestWord) >= i || t.stop.Load()
			}, t.patience())
			t.check()
			if !ok {
				t.Fatalf("request %d is there and the server sleeps", i)
			}
			pause()
			served.Store(i)
		}
	})
	pause := dawdle(t.random(1))
	for i := uint64(1); i <= uint64(n); i++ { // the client owns p.b
		slept := w.Sleeps()
		p.b.mem.putWord(0, i)
		p.b.post(unsignaled(p.b.writeTo(p.a.mem.Remote().At(request), 0, 8)), p.b.readFrom(p.a.mem.Remote().At(flag), 64, 8))
		p.b.wait1("the READ of the flag")
		if p.b.mem.word(64) != 0 {
			p.b.post(p.b.sendFrom(0, 0))
			p.b.wait1("the wake-up")
		}
		t.await("the server", func() bool { return served.Load() >= i }, p.b.owner)
		pause()
		if i%64 == 0 && i < uint64(n) && realTime(p.a.dev) {
			t.await("the server to sleep", func() bool { return w.Sleeps() != slept }, p.b.owner)
		}
	}
	c.join()
}

func peerSleepCases() []*testCase {
	return join(
		peers("G17/solicited", ruleEvents, solicitedOnly, fabric.RC, fabric.UC, fabric.UD),
		peers("G17/ping-pong", ruleNoneLost, pingPong, fabric.RC),
		peers("G17/wakes/disconnect", ruleEvents, wakesDisconnect, fabric.RC),
	)
}

// untilTold waits asleep, as until does, and wakes up when the case has failed
// at the other side.
func (p *peer) untilTold(s *sleeper, what string, cond func() bool) {
	p.Helper()
	defer context.AfterFunc(p.context, s.Wake)()
	s.until(what, cond)
}

const (
	unmarked, marked = 64, 65 // bytes of the messages of solicitedOnly
	unmarkedEach     = 4      // of the former in each round
)

// solicitedOnly has messages that are not marked let the server sleep, and one
// that is marked wake it.
func solicitedOnly(p *peer, tr fabric.Transport) {
	l := p.connect(pairConfig{tr: tr, size: 4096})
	rounds := p.times(8)
	if p.role == Client {
		for round := range rounds {
			for range unmarkedEach {
				p.meet("asleep", l.owner)
				l.do(l.sendFrom(0, unmarked))
				p.meet("sent", l.owner)
			}
			for awake := false; !awake; { // it may be dropped
				w := l.sendFrom(0, marked)
				if tr != fabric.UD && round%2 == 1 {
					w = l.writeImmTo(l.remote, 0, marked, 1)
				}
				w.Flags |= fabric.FlagSolicited
				l.do(w)
				p.say(true)
				p.hear(&awake, l.owner)
			}
		}
		return
	}
	s := p.sleeper(l.owner, fabric.WaitConfig{SolicitedOnly: true})
	disturbed := 0
	for posted := 0; rounds > 0; rounds-- {
		for ; posted < 32; posted++ {
			l.postRecv(l.recvAt(0, marked))
		}
		disturbed += l.sleepSolicited(s)
		posted -= len(l.received)
		l.takeReceived(len(l.received))
	}
	if total := p.times(8) * unmarkedEach; disturbed > total/2 {
		p.Fatalf("%d messages without a mark woke the sleeper %d times", total, disturbed)
	}
	s.wantSlept()
	s.wantNoLateWake()
}

// sleepSolicited sleeps until a marked message comes, and returns how often
// others disturbed it.
func (l *conn) sleepSolicited(s *sleeper) (disturbed int) {
	p, tr := l.p, l.cfg.Transport
	p.Helper()
	awake := make(chan struct{})
	c := p.crew()
	c.run(func() { // owns the connection
		defer close(awake)
		p.untilTold(s, "a marked message", func() bool {
			return slices.ContainsFunc(l.received, func(c fabric.Completion) bool { return int(c.Bytes) == l.head()+marked })
		})
	})
	for range unmarkedEach {
		s.asleep()
		before := s.roused.Load()
		p.meet("asleep")
		p.meet("sent")
		if p.within(8*time.Millisecond, func() bool { return s.roused.Load() != before }) {
			disturbed++
		}
	}
	for range attempts(tr) {
		var sent bool
		p.hear(&sent)
		woken := p.arrives("the waiter to wake up", tr, func() bool {
			select {
			case <-awake:
				return true
			default:
				return false
			}
		})
		if p.say(woken); woken {
			c.join()
			return disturbed
		}
	}
	p.Fatalf("no marked message woke the waiter")
	return 0
}

// pingPong has both peers wake each other, thousands of times (or, where both
// share a processor, find that the other has been there already), with random
// pauses so that messages come at every moment of falling asleep.
func pingPong(p *peer, tr fabric.Transport) {
	for i, spin := range []time.Duration{time.Nanosecond, time.Microsecond, 20 * time.Microsecond} {
		l := p.connect(pairConfig{tr: tr, split: i == 1})
		s := p.sleeper(l.owner, fabric.WaitConfig{Spin: spin})
		wait := func(what string, cond func() bool) { p.untilTold(s, what, cond) }
		n, pause := p.times(1500), dawdle(p.random(2*i+int(p.role)))
		if p.role == Server {
			l.pong(n, wait, pause)
		} else {
			l.ping(n, wait, pause)
		}
		s.wantNoLateWake()
		p.meet("played", l.owner)
	}
}

// wakesDisconnect has the end of the connection wake a sleeper without
// receives.
func wakesDisconnect(p *peer, tr fabric.Transport) {
	for i := range p.times(16) {
		l := p.connect(pairConfig{tr: tr, size: 4096})
		if p.role == Client {
			var asleep bool
			p.hear(&asleep, l.owner)
			if i%3 == 0 {
				p.must("Close", l.qp.Close())
			} else {
				p.must("Disconnect", l.qp.Disconnect())
			}
			p.meet("woken")
			continue
		}
		s := p.sleeper(l.owner, fabric.WaitConfig{SolicitedOnly: i%2 == 1})
		c := p.crew()
		c.run(func() { // owns the connection
			p.untilTold(s, "the end", func() bool { return l.qp.State() != fabric.StateReady })
			p.wantDisconnected(l.end)
		})
		s.asleep()
		p.say(true)
		c.join()
		s.wantNoLateWake()
		p.meet("woken")
	}
}
