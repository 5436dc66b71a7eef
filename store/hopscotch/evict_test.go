package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestVictim fills a neighbourhood of a cache with items of one home, uses some, and puts
// another: the oldest unused item is evicted.
func TestVictim(t *testing.T) {
	r := openRig(t, New, store.Cache, store.MinMemory)
	for i := range reach {
		r.MustPut(r.homed(i, 40), 10)
	}
	for _, i := range []int{0, 1, 3} {
		if _, err := r.Get(r.homed(i, 40), 0); err != nil {
			t.Fatal(err)
		}
	}
	r.MustPut(r.homed(100, 40), 10)
	for i := range reach {
		k := r.homed(i, 40)
		if there := r.find(k.Hash, k.Bytes).isFound(); there != (i != 2) {
			t.Errorf("item %d exists: %v", i, there)
		}
	}
	if st := r.Stats(); st.Evicted != 1 || st.Rescued != 3 {
		t.Errorf("Stats: %+v", st)
	}
}

// TestCreditEnds puts items until those that were used once are evicted.
func TestCreditEnds(t *testing.T) {
	r := openRig(t, New, store.Cache, store.MinMemory)
	for i := range reach {
		r.MustPut(r.homed(i, 40), 10)
		if _, err := r.Get(r.homed(i, 40), 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		r.MustPut(r.homed(100+i, 40), 10)
	}
	for i := range reach {
		if k := r.homed(i, 40); r.find(k.Hash, k.Bytes).isFound() {
			t.Errorf("item %d still exists", i)
		}
	}
}

// TestStride checks that all slots have a turn before the first has another.
func TestStride(t *testing.T) {
	for _, n := range []uint64{reach, 7, 100, 806, 1000, 4096, 65_537} {
		step, seen, at := strideFor(n), make([]bool, n), uint64(0)
		for range n {
			if at = (at + step) % n; seen[at] {
				t.Fatalf("%d slots by steps of %d: slot %d comes twice", n, step, at)
			}
			seen[at] = true
		}
	}
}
