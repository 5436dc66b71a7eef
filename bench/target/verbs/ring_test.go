package verbs

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// fakeQP takes up to room requests at a time and remembers their places.
type fakeQP struct {
	fabric.QP
	room   int
	places []int
	flags  []fabric.Flags
}

func (q *fakeQP) Post(wrs []fabric.WR) (int, error) {
	for i := range wrs {
		if i == q.room {
			return i, fabric.ErrQueueFull
		}
		q.places = append(q.places, placeOf(wrs[i].ID))
		q.flags = append(q.flags, wrs[i].Flags)
	}
	return len(wrs), nil
}

func testRing(ring, every, batch int) (*sendRing, *fakeQP) {
	q := &fakeQP{room: 1 << 20}
	r := newSendRing(&lane{index: 3}, q, shape{ring: ring, every: every}, batch, func(place int) fabric.WR {
		return fabric.WR{Op: fabric.OpWrite, Imm: uint32(place)}
	})
	return &r, q
}

func TestChainsGoRoundTheRing(t *testing.T) {
	r, q := testRing(6, 3, 4)
	for range 5 {
		if err := r.post(4); err != nil {
			t.Fatal(err)
		}
	}
	for i, place := range q.places {
		if place != i%6 {
			t.Fatalf("request %d has place %d of 6", i, place)
		}
		if signaled := q.flags[i]&fabric.FlagSignaled != 0; signaled != (place%3 == 2) {
			t.Errorf("place %d: signaled %v", place, signaled)
		}
	}
}

func TestACompletionCoversTheUnsignaledBeforeIt(t *testing.T) {
	r, _ := testRing(6, 3, 6)
	if err := r.post(6); err != nil {
		t.Fatal(err)
	}
	if n := r.reclaim(2); n != 3 || r.pending() != 3 {
		t.Errorf("place 2 covers %d requests and leaves %d", n, r.pending())
	}
	if err := r.post(2); err != nil {
		t.Fatal(err)
	}
	if n := r.reclaim(5); n != 3 || r.pending() != 2 {
		t.Errorf("place 5 covers %d requests and leaves %d", n, r.pending())
	}
	if !r.unsignaledTail() {
		t.Error("two unsignaled requests are in flight")
	}
	if err := r.postSignaled(); err != nil {
		t.Fatal(err)
	}
	if n := r.reclaim(2); n != 3 || r.pending() != 0 || r.unsignaledTail() {
		t.Errorf("place 2 covers %d requests and leaves %d", n, r.pending())
	}
}

// A ring that is wholly in flight is reclaimed by its last place.
func TestReclaimOfAWholeRing(t *testing.T) {
	r, _ := testRing(4, 4, 4)
	for range 3 {
		if err := r.post(4); err != nil {
			t.Fatal(err)
		}
		if n := r.reclaim(3); n != 4 {
			t.Fatalf("the last place covers %d of 4", n)
		}
	}
}

func TestRefusedPostSaysHowMuchWasTaken(t *testing.T) {
	r, q := testRing(4, 1, 4)
	q.room = 1
	err := r.post(3)
	if !errors.Is(err, fabric.ErrQueueFull) || !strings.Contains(err.Error(), "1 of 3") {
		t.Errorf("post gave %v", err)
	}
}

func TestIDs(t *testing.T) {
	for _, lane := range []int{0, 1, 255} {
		for _, place := range []int{0, 7, napID, ringID} {
			if id := idOf(lane, place); laneOf(id) != lane || placeOf(id) != place {
				t.Errorf("lane %d place %d became %d %d", lane, place, laneOf(id), placeOf(id))
			}
		}
	}
}
