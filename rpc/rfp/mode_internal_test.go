package rfp

import (
	"testing"
	"time"
)

// calls feeds a hybrid with calls: for each how many READs fail, and in reply mode
// how long the server takes. READs are one microsecond apart.
type feeder struct {
	h   hybrid
	p   Params
	now int64
	// messages of each frame.
	messages int
}

func (f *feeder) call(misses int, nanos int64) {
	began := f.now
	for try := 1; try <= misses && f.h.mode == Fetch; try++ {
		f.now += 1000
		if f.h.failed(&f.p, try-1, try, f.messages, began, func() int64 { return f.now }) {
			f.h.change(Reply, &f.p)
		}
	}
	if f.h.answered(&f.p, misses, f.messages, nanos) {
		f.h.change(Fetch, &f.p)
	}
}

func newFeeder() *feeder {
	f := &feeder{messages: 1}
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

// The answer to a batch may take longer than that to a message, in proportion:
// with pauses that double, 16 times as long is four READs more.
func TestBatchesMayTakeLonger(t *testing.T) {
	for messages, more := range map[int]int{0: 0, 1: 0, 2: 1, 4: 2, 16: 4} {
		f := newFeeder()
		f.messages = messages
		f.call(6+more, 0)
		f.call(5+more, 0)
		f.call(6+more, 0)
		if f.h.mode != Fetch {
			t.Errorf("%d messages: %d failures are too many", messages, 5+more)
		}
		f.call(6+more, 0)
		if f.h.mode != Reply {
			t.Errorf("%d messages: %d failures, twice, are not too many", messages, 6+more)
		}
	}
}

func TestReturnTakesQuickAnswersInARow(t *testing.T) {
	f := newFeeder()
	f.call(6, 0)
	f.call(6, 0)
	if f.h.mode != Reply || f.h.limit != 6000 {
		t.Fatalf("mode %v, more than R READs take %d ns", f.h.mode, f.h.limit)
	}
	for range 5 {
		f.call(0, 4499) // three quarters are quick
		f.call(0, 4500)
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

// What counts is the time for each message: batches that take longer than a call
// was allowed to, but not for each of their messages, are fetched again.
func TestReturnKnowsBatches(t *testing.T) {
	f := newFeeder()
	f.call(6, 0)
	f.call(6, 0)
	f.messages = 16
	for range 5 {
		f.call(0, 16*5000)
	}
	if f.h.mode != Reply {
		t.Error("slow batches changed the mode")
	}
	f.call(0, 6000)
	f.call(0, 6000)
	if f.h.mode != Fetch {
		t.Error("quick batches did not change the mode back")
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
	if f.h.naps(&f.p) {
		t.Error("a client sleeps for replies of ten microseconds, which is what waking takes")
	}
	thrifty := f.p
	thrifty.NapAfter = 5 * time.Microsecond
	if !f.h.naps(&thrifty) {
		t.Error("a client that is to save CPU spins for replies of ten microseconds")
	}
	for range 50 {
		f.call(0, 100_000)
	}
	if !f.h.naps(&f.p) {
		t.Error("a client spins for replies of a hundred microseconds")
	}
}
