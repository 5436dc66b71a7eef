package mica

import "testing"

// A ring goes through its states: filled, wrapped, passed, filled again.
func TestRing(t *testing.T) {
	var r ring
	r.reset()
	if !r.empty() || r.top() != logStart {
		t.Fatalf("a new ring: %v", &r)
	}
	r.head += 100
	if r.empty() || r.top() != logStart+100 || r.spans() != [2][2]int{{logStart, logStart + 100}, {}} {
		t.Fatalf("with 100 bytes: %v", &r)
	}
	r.pass(40)
	r.turn()
	if !r.wrapped || r.top() != logStart+100 || r.spans() != [2][2]int{{logStart + 40, logStart + 100}, {logStart, logStart}} {
		t.Fatalf("wrapped: %v", &r)
	}
	r.head += 30
	if older, newer := r.age(logStart+40), r.age(logStart); older >= newer {
		t.Fatalf("what is older has age %d, what is newer %d", older, newer)
	}
	r.pass(60)
	if r.wrapped || r.tail != logStart || r.top() != logStart+30 {
		t.Fatalf("with nothing left behind the gap: %v", &r)
	}
	r.pass(30)
	if !r.empty() {
		t.Fatalf("with nothing left: %v", &r)
	}
}

// An empty ring that was reset stays empty when it turns.
func TestRingTurnsEmpty(t *testing.T) {
	var r ring
	r.reset()
	r.turn()
	if !r.empty() || r.head != logStart {
		t.Fatalf("an empty ring that turned: %v", &r)
	}
}
