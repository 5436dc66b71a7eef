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
