package base_test

import (
	"math"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// hands is a clock that goes on by a step with every look.
type hands struct{ now, step int64 }

func (h *hands) Now() int64 { h.now += h.step; return h.now }

func spinner(h *hands) *base.Spinner {
	return &base.Spinner{Clock: h, Time: 100, Burst: 4, Yields: 3}
}

func never() bool { return false }

func noSleep(t *testing.T) func(int64) bool {
	return func(int64) bool {
		t.Fatal("it sleeps")
		return true
	}
}

func TestFound(t *testing.T) {
	polls := 0
	s := spinner(&hands{step: 1})
	if !s.Wait(func() bool { polls++; return polls == 7 }, noSleep(t), time.Hour) || polls != 7 {
		t.Errorf("found after %d polls, want 7", polls)
	}
}

// Spinning takes the time it may, then yields, then sleeps, and begins again.
func TestQuiet(t *testing.T) {
	h := &hands{now: 1000, step: 10}
	s := spinner(h)
	polls, sleeps := 0, 0
	sleep := func(deadline int64) bool {
		sleeps++
		if deadline != math.MaxInt64 {
			t.Errorf("a sleep until %d, want forever", deadline)
		}
		if want := sleeps * (10*s.Burst + s.Yields); polls != want {
			t.Errorf("sleep %d after %d polls, want %d", sleeps, polls, want)
		}
		return sleeps == 3
	}
	if !s.Wait(func() bool { polls++; return false }, sleep, 0) || sleeps != 3 {
		t.Errorf("ended after %d sleeps, want 3", sleeps)
	}
}

func TestBusy(t *testing.T) {
	s := spinner(&hands{step: 10})
	s.Policy = fabric.Busy
	if s.Wait(never, noSleep(t), time.Microsecond) {
		t.Error("found something")
	}
}

// The last word is poll's when the time is over.
func TestOver(t *testing.T) {
	h := &hands{step: 10}
	s := spinner(h)
	sleep := func(deadline int64) bool {
		h.now = deadline
		return false
	}
	if s.Wait(func() bool { return h.now > 5000 }, sleep, 5000) != true {
		t.Error("poll was not asked when the time was over")
	}
	if s.Wait(never, sleep, 5000) {
		t.Error("found something")
	}
}

// Wake ends one Wait, that under way or the next.
func TestWake(t *testing.T) {
	s := spinner(&hands{step: 10})
	s.Wake()
	if !s.Woken() || s.Wait(never, noSleep(t), 0) || s.Woken() {
		t.Error("Wake did not end the next Wait")
	}
	sleeps := 0
	sleep := func(int64) bool {
		sleeps++
		s.Wake()
		return false
	}
	if s.Wait(never, sleep, 0) || sleeps != 1 {
		t.Errorf("Wake ended a Wait after %d sleeps, want 1", sleeps)
	}
}

// The longest time that can be said does not end at once.
func TestLongest(t *testing.T) {
	s := spinner(&hands{now: 1 << 60, step: 10})
	sleeps := 0
	sleep := func(deadline int64) bool {
		sleeps++
		return deadline == math.MaxInt64
	}
	if !s.Wait(never, sleep, math.MaxInt64) || sleeps != 1 {
		t.Errorf("%d sleeps, want one without end", sleeps)
	}
	if at := base.After(40, 2); at != 42 {
		t.Errorf("2 after 40 is %d", at)
	}
}

// room is peers of a spinner: how often they were looked for, and had the CPU.
type room struct {
	clock         *hands
	beside        bool
	looks, yields int
	takes         int64 // of a yield
}

func (r *room) Beside() bool { r.looks++; return r.beside }
func (r *room) Yield()       { r.yields++; r.clock.now += r.takes }

// crowd is a spinner with peers.
func crowd() (*base.Spinner, *room) {
	h := &hands{now: 1000, step: 100}
	r := &room{clock: h, takes: 1000}
	s := spinner(h)
	s.Time, s.Peers = 50*time.Microsecond, r
	return s, r
}

// A peer on another CPU is looked for after some time, and the CPU is not yielded.
func TestPeerElsewhere(t *testing.T) {
	s, r := crowd()
	polls := 0
	if !s.Wait(func() bool { polls++; return polls == 4*20 }, noSleep(t), 0) || r.looks != 0 {
		t.Errorf("after 2 us: %d looks", r.looks)
	}
	polls = 0
	if !s.Wait(func() bool { polls++; return polls == 4*200 }, noSleep(t), 0) || r.looks < 100 || r.yields != 0 || s.Crowded() {
		t.Errorf("after 20 us: %d looks, %d yields", r.looks, r.yields)
	}
}

// A peer on the same CPU has it after every poll, from the first on once it is known to be there; and
// no more when it has gone.
func TestPeerBeside(t *testing.T) {
	s, r := crowd()
	r.beside = true
	answered := func(after int) func() bool { return func() bool { return r.yields >= after } }
	if !s.Wait(answered(1), noSleep(t), 0) || !s.Crowded() {
		t.Error("no answer, or not crowded")
	}
	polls := 0
	if !s.Wait(func() bool { polls++; return r.yields == 2 }, noSleep(t), 0) || polls > 2 {
		t.Errorf("%d polls before the second answer, want 2", polls)
	}
	r.beside = false
	if s.Wait(never, func(int64) bool { return false }, 10*time.Microsecond) || r.yields != 2 || s.Crowded() {
		t.Errorf("%d yields to a peer that is gone", r.yields-2)
	}
}

// A waiter that is to sleep at once does not look for peers.
func TestPeerOfASleeper(t *testing.T) {
	s, r := crowd()
	r.beside, s.Time = true, time.Nanosecond
	if !s.Wait(never, func(int64) bool { return true }, 0) || r.looks+r.yields != 0 {
		t.Errorf("%d looks, %d yields", r.looks, r.yields)
	}
}

// A peer that does not answer is slept for in the end, and a busy waiter yields to it, too.
func TestPeerSilent(t *testing.T) {
	s, r := crowd()
	r.beside = true
	if !s.Wait(never, func(int64) bool { return true }, 0) || r.yields < 10 || r.yields > 100 {
		t.Errorf("%d yields in 50 us", r.yields)
	}
	s.Policy = fabric.Busy
	if r.yields = 0; s.Wait(never, noSleep(t), time.Millisecond) || r.yields < 100 {
		t.Errorf("%d yields of a busy waiter in 1 ms", r.yields)
	}
}

// Where a yield takes long, another thread uses the CPU: there are no more of them for some time.
func TestPeerBesideOthers(t *testing.T) {
	s, r := crowd()
	r.beside, r.takes = true, int64(3*time.Millisecond)
	sleeps := 0
	for range 10 {
		if !s.Wait(never, func(int64) bool { sleeps++; return true }, 0) || s.Crowded() {
			t.Error("no sleep, or crowded")
		}
	}
	if r.yields != 1 || sleeps != 10 {
		t.Errorf("%d yields and %d sleeps, want 1 and 10", r.yields, sleeps)
	}
	r.clock.now += int64(time.Second)
	if s.Wait(never, func(int64) bool { return true }, 0); r.yields != 2 {
		t.Errorf("%d yields a second later, want 1", r.yields-1)
	}
}

func TestAllocates(t *testing.T) {
	h := &hands{step: 10}
	s := spinner(h)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		n = 0
		s.Wait(func() bool { n++; return false }, func(int64) bool { return n > 200 }, 0)
	}); allocs != 0 {
		t.Errorf("%v allocations per Wait", allocs)
	}
}
