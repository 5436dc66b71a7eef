//go:build rdma

package verbs

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// polled polls up to n completions and returns their IDs.
func (t *bench) polled(n int) []uint64 {
	out := make([]fabric.Completion, n)
	var ids []uint64
	for _, c := range out[:t.cq.Poll(out)] {
		ids = append(ids, c.ID)
	}
	return ids
}

// number gives the next chain IDs that follow each other.
func (t *bench) number(first uint64) {
	for i := range t.wrs {
		t.wrs[i].ID = first + uint64(i)
	}
}

// wantIDs checks that completions come in order and none is missing.
func wantIDs(t *testing.T, what string, got []uint64, first uint64, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%s: got %v, want %d from %d on", what, got, n, first)
	}
	for i, id := range got {
		if id != first+uint64(i) {
			t.Fatalf("%s: got %v, want them from %d on", what, got, first)
		}
	}
}

// newEcho is a bench whose adapter completes what is posted, at once.
func newEcho(t *testing.T) *bench {
	b := newBench(t, 3)
	b.null.Complete(b.q.sendID, -1)
	b.number(0)
	b.post(t)
	if b.cq.aheadEnd-b.cq.ahead != 3 {
		t.Fatalf("a post took %d completions along, want 3", b.cq.aheadEnd-b.cq.ahead)
	}
	return b
}

// Completions that Post took along come first, in order, also when there are
// more than were asked for and others behind them.
func TestPostTakesCompletionsAlong(t *testing.T) {
	b := newEcho(t)
	wantIDs(t, "a part of them", b.polled(2), 0, 2)
	b.number(3)
	b.post(t)
	wantIDs(t, "the rest", b.polled(8), 2, 1)
	wantIDs(t, "those that stayed with the adapter", b.polled(8), 3, 3)
	wantIDs(t, "nothing", b.polled(8), 0, 0)
}

// A look at the queue for another reason keeps what Post took along.
func TestPullKeepsWhatCameAlong(t *testing.T) {
	b := newEcho(t)
	b.number(3)
	b.post(t)
	b.cq.pull()
	wantIDs(t, "after a pull", b.polled(8), 0, 6)
}

// Before a sleep, nothing stays where no event tells of it: Poll delivers what
// the adapter has as well, and Post leaves it there.
func TestNothingComesAlongIntoASleep(t *testing.T) {
	b := newEcho(t)
	b.number(3)
	b.post(t)
	b.cq.Asleep.Store(1)
	wantIDs(t, "the last look", b.polled(8), 0, 6)
	b.number(6)
	b.post(t)
	if b.cq.ahead != b.cq.aheadEnd {
		t.Error("a post took completions along while a waiter sleeps")
	}
	b.cq.Asleep.Store(0)
	wantIDs(t, "after it", b.polled(8), 6, 3)
}

func TestTakingAlongDoesNotAllocate(t *testing.T) {
	b := newEcho(t)
	var out [8]fabric.Completion
	b.cq.Poll(out[:])
	if n := testing.AllocsPerRun(100, func() {
		b.post(t)
		b.cq.Poll(out[:])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
