package rfp

import "testing"

// calls feeds a hybrid with calls: for each how many READs fail, and in reply mode
// how long the server takes. READs are one microsecond apart.
type feeder struct {
	h   hybrid
	p   Params
	now int64
}

func (f *feeder) call(misses int, nanos int64) {
	for try := 1; try <= misses && f.h.mode == Fetch; try++ {
		f.now += 1000
		if f.h.missed(&f.p, try, func() int64 { return f.now }) {
			f.h.change(Reply)
		}
	}
	if f.h.answered(&f.p, misses, nanos) {
		f.h.change(Fetch)
	}
}

func newFeeder() *feeder {
	f := &feeder{}
	f.p.setDefaults()
	return f
}

func TestOneSlowCallDoesNotSwitch(t *testing.T) {
	f := newFeeder()
	for range 10 {
		f.call(6, 0)
		f.call(5, 0) // R failures are allowed
	}
	if f.h.mode != Fetch {
		t.Error("slow calls that were not consecutive changed the mode")
	}
	f.call(6, 0)
	f.call(1000, 0)
	if f.h.mode != Reply {
		t.Error("two slow calls in a row did not change the mode")
	}
}

func TestReturnTakesQuickAnswersInARow(t *testing.T) {
	f := newFeeder()
	f.call(6, 0)
	f.call(6, 0)
	if f.h.mode != Reply || f.h.limit != 5000 {
		t.Fatalf("mode %v, R READs take %d ns", f.h.mode, f.h.limit)
	}
	for range 5 {
		f.call(0, 4999)
		f.call(0, 5000)
		f.call(0, 0) // not measured: says nothing
	}
	if f.h.mode != Reply {
		t.Error("quick answers that were not consecutive changed the mode")
	}
	f.call(0, 100)
	f.call(0, 0)
	f.call(0, 100)
	if f.h.mode != Fetch {
		t.Error("two quick answers did not change the mode back")
	}
}

func TestPinnedNeverSwitches(t *testing.T) {
	for _, m := range []Mode{Fetch, Reply} {
		f := newFeeder()
		f.p.Pinned, f.h.mode = true, m
		for range 10 {
			f.call(100, 1)
		}
		if f.h.mode != m {
			t.Errorf("pinned to %v, became %v", m, f.h.mode)
		}
	}
}

func TestLongRepliesAreSleptFor(t *testing.T) {
	f := newFeeder()
	f.p.Pinned, f.h.mode = true, Reply
	for range 50 {
		f.call(0, 10_000)
	}
	if f.h.naps() {
		t.Error("a client sleeps for replies of ten microseconds, which is what waking takes")
	}
	for range 50 {
		f.call(0, 100_000)
	}
	if !f.h.naps() {
		t.Error("a client spins for replies of a hundred microseconds")
	}
}
