package fabrictest

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

const (
	ruleWait = "Wait calls poll until it returns true, and returns true; or returns false when timeout has passed (0 means forever) " +
		"or Wake was called, after a last call of poll."
	ruleWake        = "Wake ends the current Wait, or the next one if there is none."
	ruleBeforeSleep = "is called just before a sleep, after the completion queues are armed and before poll is called for the last time; " +
		"AfterSleep after it."
	ruleEvents = "A thread asleep in a Waiter is woken by a completion on one of its completion queues (for waiters with " +
		"SolicitedOnly: a receive that the sender marked FlagSolicited, or any error), by a change of state of a queue pair on them, " +
		"by Wake, and when its time is over."
	ruleNoneLost = "No wake-up is lost: a completion that arrives at any moment of falling asleep ends the sleep."
	ruleNoThread = "A WRITE wakes no thread."
)

func waitCases() []*testCase {
	return join(
		one("G17/poll", ruleWait, waitPoll),
		one("G17/timeout", ruleWait, waitTimeout),
		one("G17/wake-current", ruleWake, wakeCurrent),
		one("G17/wake-next", ruleWake, wakeNext),
		one("G17/wake-storm", ruleWake, wakeStorm),
		one("G17/busy", "Busy spins and never sleeps.", busyNeverSleeps),
		one("G17/before-and-after", ruleBeforeSleep, beforeAndAfter),
		one("G17/poll-before-sleep", ruleBeforeSleep, pollBeforeSleep),
		one("G17/arrives-before-sleep", ruleNoneLost, arrivesBeforeSleep),
		one("G17/arrives-after-last-look", ruleNoneLost, arrivesAfterLastLook),
	)
}

// waitPoll looks at what Wait does when there is no need to wait.
func waitPoll(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	for _, policy := range []fabric.Policy{fabric.Adaptive, fabric.Busy} {
		w := t.waiter(o.dev, fabric.WaitConfig{Policy: policy, CQs: o.cqs})
		for want := 1; want <= 5; want++ {
			calls := 0
			if !w.Wait(func() bool { calls++; return calls == want }, 0) || calls != want {
				t.Fatalf("%v: poll returned true at call %d, and was called %d times", policy, want, calls)
			}
		}
	}
}

func waitTimeout(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	clock := o.dev.Clock()
	for _, cfg := range []fabric.WaitConfig{
		{Policy: fabric.Adaptive, Spin: time.Nanosecond},
		{Policy: fabric.Adaptive},
		{Policy: fabric.Adaptive, Spin: time.Second},
		{Policy: fabric.Busy},
	} {
		cfg.CQs = o.cqs
		w := t.waiter(o.dev, cfg)
		for _, limit := range []time.Duration{1, time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
			start := clock.Now()
			last := start
			if w.Wait(func() bool { last = clock.Now(); return false }, limit) {
				t.Fatalf("%+v: Wait returned true and poll never did", cfg)
			}
			if took := clock.Now() - start; took < int64(limit) {
				t.Fatalf("%+v: Wait with a timeout of %v returned after %v", cfg, limit, time.Duration(took))
			}
			if last-start < int64(limit) {
				t.Fatalf("%+v: the last poll was %v after the start, before the timeout of %v", cfg, time.Duration(last-start), limit)
			}
			// Whatever the last poll finds counts.
			start = clock.Now()
			if !w.Wait(func() bool { return clock.Now()-start >= int64(limit) }, limit) {
				t.Fatalf("%+v: poll returned true when the time was over, and Wait false", cfg)
			}
		}
	}
}

func wakeCurrent(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	for range t.times(100) {
		s := t.sleeper(o, fabric.WaitConfig{})
		c := t.crew()
		c.run(func() {
			if s.Wait(func() bool { return false }, 0) {
				t.Fatalf("Wait returned true and poll never did")
			}
		})
		s.asleep()
		s.Wake()
		c.join()
		t.must("Waiter.Close", s.Close())
	}
	w := t.waiter(o.dev, fabric.WaitConfig{Policy: fabric.Busy, CQs: o.cqs})
	for range t.times(100) {
		var waiting atomic.Bool
		c := t.crew()
		c.run(func() { w.Wait(func() bool { waiting.Store(true); return false }, 0) })
		t.await("the waiter", waiting.Load)
		w.Wake()
		c.join()
	}
}

func wakeNext(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	clock := o.dev.Clock()
	for _, policy := range []fabric.Policy{fabric.Adaptive, fabric.Busy} {
		w := t.waiter(o.dev, fabric.WaitConfig{Policy: policy, CQs: o.cqs, Spin: time.Microsecond})
		for range 20 {
			w.Wake()
			calls, start := 0, clock.Now()
			if w.Wait(func() bool { calls++; return false }, t.patience()) || calls == 0 {
				t.Fatalf("%v: Wait after Wake returned true, or never called poll", policy)
			}
			if clock.Now()-start >= int64(t.patience()) {
				t.Fatalf("%v: Wake was forgotten before the next Wait", policy)
			}
		}
		// One Wake ends one Wait.
		w.Wake()
		w.Wait(func() bool { return false }, t.patience())
		const limit = 5 * time.Millisecond
		start := clock.Now()
		w.Wait(func() bool { return false }, limit)
		if took := clock.Now() - start; took < int64(limit) {
			t.Fatalf("%v: one Wake ended two Waits", policy)
		}
	}
}

// wakeStorm wakes without end while messages go back and forth.
func wakeStorm(t *trial) {
	p := t.pair(pairConfig{})
	a, b := t.sleeper(p.a.owner, fabric.WaitConfig{}), t.sleeper(p.b.owner, fabric.WaitConfig{})
	var done atomic.Bool
	storm, c := t.crew(), t.crew()
	for _, s := range []*sleeper{a, b} {
		storm.run(func() {
			t.await("the end", func() bool { s.Wake(); return done.Load() })
		})
	}
	patient := func(s *sleeper) func(string, func() bool) {
		return func(what string, cond func() bool) {
			for !cond() {
				t.check()
				s.Wait(func() bool { s.o.poll(); return cond() || t.stop.Load() }, t.patience())
			}
		}
	}
	n := t.times(500)
	c.run(func() { p.a.pong(n, patient(a), func() {}) })
	c.run(func() { p.b.ping(n, patient(b), func() {}) })
	c.wait.Wait()
	done.Store(true)
	storm.join()
}

func busyNeverSleeps(t *trial) {
	p := t.pair(pairConfig{})
	calls := 0
	cfg := fabric.WaitConfig{Policy: fabric.Busy, CQs: p.a.cqs, Spin: 1, BeforeSleep: func() { calls++ }, AfterSleep: func() { calls++ }}
	w := t.waiter(p.a.dev, cfg)
	w.Wait(func() bool { return false }, 20*time.Millisecond)
	c := t.crew()
	n := t.times(50)
	c.run(func() {
		p.a.pong(n, func(what string, cond func() bool) {
			if !w.Wait(func() bool { p.a.poll(); return cond() || t.stop.Load() }, t.patience()) {
				t.Fatalf("timed out waiting for %s", what)
			}
		}, func() {})
	})
	p.b.ping(n, func(what string, cond func() bool) { t.await(what, cond, p.b.owner) }, func() {})
	c.join()
	if w.Sleeps() != 0 || calls != 0 {
		t.Fatalf("a busy waiter slept %d times and called BeforeSleep or AfterSleep %d times", w.Sleeps(), calls)
	}
}

// beforeAndAfter records what Wait calls in which order.
func beforeAndAfter(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	var calls []byte
	w := t.waiter(o.dev, fabric.WaitConfig{
		CQs: o.cqs, Spin: time.Nanosecond,
		BeforeSleep: func() { calls = append(calls, 'b') },
		AfterSleep:  func() { calls = append(calls, 'a') },
	})
	for n := range 40 {
		calls = calls[:0]
		k := 0
		w.Wait(func() bool {
			calls = append(calls, 'p')
			k++
			return k > n*50
		}, 3*time.Millisecond)
		asleep, polled := false, false
		for i, c := range calls {
			switch {
			case c == 'b' && asleep, c == 'a' && !asleep:
				t.Fatalf("BeforeSleep and AfterSleep do not alternate: %s", calls[max(0, i-20):i+1])
			case c == 'a' && !polled:
				t.Fatalf("no poll between BeforeSleep and AfterSleep: %s", calls[max(0, i-20):i+1])
			case c == 'b':
				asleep, polled = true, false
			case c == 'a':
				asleep = false
			default:
				polled = polled || asleep
			}
		}
		if asleep {
			t.Fatalf("Wait returned without AfterSleep")
		}
	}
	if w.Sleeps() == 0 && realTime(o.dev) {
		t.Fatalf("the waiter never slept")
	}
}

// pollBeforeSleep changes memory in BeforeSleep, as a peer might in that moment: the
// last poll sees it.
func pollBeforeSleep(t *trial) {
	o := t.owner(t.world.A, t.domain(t.world.A), 8, false)
	for range t.times(100) {
		flag := false
		s := t.sleeper(o, fabric.WaitConfig{})
		s.onBeforeSleep = func() { flag = true }
		s.until("what changed in BeforeSleep", func() bool { return flag })
		if s.Sleeps() != 0 {
			t.Fatalf("poll was true after BeforeSleep, and yet the waiter slept")
		}
		t.must("Waiter.Close", s.Close())
	}
}

// remoteSender owns b and sends a message whenever asked, and answers when it
// has arrived.
func (p *pair) remoteSender(c *crew, flags fabric.Flags) (send func(), end func()) {
	ask, answer := make(chan struct{}), make(chan struct{})
	c.run(func() {
		defer close(answer)
		for range ask {
			w := p.b.sendFrom(0, 8)
			w.Flags |= flags
			p.b.post(w)
			p.b.wait1("the message to arrive")
			answer <- struct{}{}
		}
	})
	return func() {
		ask <- struct{}{}
		<-answer
	}, func() { close(ask) }
}

// arrivesBeforeSleep has a message arrive in BeforeSleep.
func arrivesBeforeSleep(t *trial) {
	p := t.pair(pairConfig{})
	c := t.crew()
	send, end := p.remoteSender(c, 0)
	s := t.sleeper(p.a.owner, fabric.WaitConfig{})
	sent := false
	s.onBeforeSleep = func() {
		if !sent {
			sent = true
			send()
		}
	}
	for range t.times(300) {
		p.a.postRecv(p.a.recvAt(0, 8))
		sent = false
		s.until("a message that arrived in BeforeSleep", func() bool { return len(p.a.received) > 0 })
		p.a.takeReceived(1)
	}
	end()
	c.join()
	s.wantNoLateWake()
}

// arrivesAfterLastLook has a message arrive after the last look at the
// completion queue and before the sleep.
func arrivesAfterLastLook(t *trial) {
	for _, solicited := range []bool{false, true} {
		p := t.pair(pairConfig{})
		c := t.crew()
		flags := fabric.Flags(0)
		if solicited {
			flags = fabric.FlagSolicited
		}
		send, end := p.remoteSender(c, flags)
		s := t.sleeper(p.a.owner, fabric.WaitConfig{SolicitedOnly: solicited})
		for range t.times(300) {
			p.a.postRecv(p.a.recvAt(0, 8))
			sent := false
			s.until("a message that arrived after the last look", func() bool {
				if len(p.a.received) > 0 {
					return true
				}
				if s.sleeping.Load() && !sent {
					sent = true
					send()
				}
				return false
			})
			p.a.takeReceived(1)
		}
		end()
		c.join()
		s.wantNoLateWake() // a waiter that looks again need not have slept
	}
}
