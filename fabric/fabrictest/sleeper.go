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
	o              *owner
	dozes, undozes atomic.Int64
	polls          atomic.Int64
	// roused counts sleeps that were too short to have ended by themselves.
	roused atomic.Int64
	dozed  time.Time // when Doze was called last
	dozing atomic.Bool
	// onDoze, when not nil, is called in Doze.
	onDoze func()
}

// brief is how long a sleep at most is that somebody has ended: a provider may have
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
	cfg.Doze = func() {
		s.dozes.Add(1)
		s.dozed = time.Now()
		if s.dozing.Swap(true) {
			t.Errorf("Doze was called twice without Undoze")
		}
		if s.onDoze != nil {
			s.onDoze()
		}
	}
	cfg.Undoze = func() {
		s.undozes.Add(1)
		if time.Since(s.dozed) < brief {
			s.roused.Add(1)
		}
		if !s.dozing.Swap(false) {
			t.Errorf("Undoze was called without Doze")
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
		t.Fatalf("waited in vain for %s: the wake-up was lost", what)
	}
	if d, u := s.dozes.Load(), s.undozes.Load(); d != u {
		t.Fatalf("Wait returned after %d calls of Doze and %d of Undoze", d, u)
	}
}

// asleep waits until the waiter is about to sleep or sleeps. It is called by
// somebody else than the owner.
func (s *sleeper) asleep() {
	t := s.o.t
	t.Helper()
	t.await("the waiter to doze", s.dozing.Load)
	// Doze is called a moment before the sleep.
	for range 50 {
		runtime.Gosched()
	}
}

// undisturbed does something that should not wake the sleeper, and leaves it
// time to wake up nevertheless.
func (s *sleeper) undisturbed(do func()) {
	s.asleep()
	before := s.dozes.Load()
	do()
	s.o.t.within(8*time.Millisecond, func() bool { return s.dozes.Load() != before })
}

// wantNoRescue checks, on a provider that counts them, that no sleep had to
// end by itself though there was something to wake up for.
func (s *sleeper) wantNoRescue() {
	s.o.t.Helper()
	if r, ok := s.Waiter.(interface{ Rescues() uint64 }); ok && r.Rescues() != 0 {
		s.o.t.Fatalf("%d wake-ups were lost and found again by chance", r.Rescues())
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
		s.o.t.Fatalf("the waiter never slept; Doze was called %d times", s.dozes.Load())
	}
}
