package fabrictest

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// sleeper is an adaptive waiter that sleeps as soon as it may, and says so.
type sleeper struct {
	fabric.Waiter
	o               *owner
	befores, afters atomic.Int64
	polls           atomic.Int64
	// roused counts sleeps that were too short to have ended by themselves.
	roused    atomic.Int64
	announced time.Time // when BeforeSleep was called last
	sleeping  atomic.Bool
	// onBeforeSleep, when not nil, is called in BeforeSleep.
	onBeforeSleep func()
}

// brief is how long a sleep at most is that a wake-up has ended: a provider may have
// sleeps end by themselves, but not so soon.
const brief = 100 * time.Millisecond

// sleeper makes a waiter over the completion queues of o.
func (t *trial) sleeper(o *owner, cfg fabric.WaitConfig) *sleeper {
	t.Helper()
	s := &sleeper{o: o}
	cfg.CQs = o.cqs
	if cfg.Spin == 0 {
		cfg.Spin = time.Nanosecond
	}
	cfg.BeforeSleep = func() {
		s.befores.Add(1)
		s.announced = time.Now()
		if s.sleeping.Swap(true) {
			t.Errorf("BeforeSleep was called twice without AfterSleep")
		}
		if s.onBeforeSleep != nil {
			s.onBeforeSleep()
		}
	}
	cfg.AfterSleep = func() {
		s.afters.Add(1)
		if time.Since(s.announced) < brief {
			s.roused.Add(1)
		}
		if !s.sleeping.Swap(false) {
			t.Errorf("AfterSleep was called without BeforeSleep")
		}
	}
	s.Waiter = t.waiter(o.dev, cfg)
	return s
}

// until waits for cond, which is looked at after each poll.
func (s *sleeper) until(what string, cond func() bool) {
	t := s.o.t
	t.Helper()
	ok := s.Wait(func() bool {
		s.polls.Add(1)
		s.o.poll()
		return cond() || t.stop.Load()
	}, t.patience())
	t.check()
	if !ok {
		t.Fatalf("timed out waiting for %s: the wake-up was lost", what)
	}
	if d, u := s.befores.Load(), s.afters.Load(); d != u {
		t.Fatalf("Wait returned after %d calls of BeforeSleep and %d of AfterSleep", d, u)
	}
}

// asleep waits until the waiter is about to sleep or sleeps. It is called by
// a goroutine other than the owner.
func (s *sleeper) asleep() {
	t := s.o.t
	t.Helper()
	t.await("the waiter to sleep", s.sleeping.Load)
	// BeforeSleep is called a moment before the sleep.
	for range 50 {
		runtime.Gosched()
	}
}

// undisturbed does something that should not wake the sleeper, and leaves it
// time to wake up nevertheless.
func (s *sleeper) undisturbed(do func()) {
	s.asleep()
	before := s.befores.Load()
	do()
	s.o.t.within(8*time.Millisecond, func() bool { return s.befores.Load() != before })
}

// wantNoLateWake checks, on a provider that counts them, that no sleep had to
// end by itself though there was something to wake up for.
func (s *sleeper) wantNoLateWake() {
	s.o.t.Helper()
	if r, ok := s.Waiter.(interface{ LateWakes() uint64 }); ok && r.LateWakes() != 0 {
		s.o.t.Fatalf("%d wake-ups were lost and found again by chance", r.LateWakes())
	}
}

// realTime reports whether the clock of a device goes by itself.
func realTime(d fabric.Device) bool {
	start := d.Clock().Now()
	for limit := time.Now().Add(2 * time.Millisecond); time.Now().Before(limit); {
		runtime.Gosched()
	}
	return d.Clock().Now() > start
}

// wantSlept checks that a waiter did sleep, where time is real.
func (s *sleeper) wantSlept() {
	s.o.t.Helper()
	if s.Sleeps() == 0 && realTime(s.o.dev) {
		s.o.t.Fatalf("the waiter never slept; BeforeSleep was called %d times", s.befores.Load())
	}
}
