package mica

import (
	"testing"

	"github.com/remora-kv/remora/test/scale"
)

// The index grows and shrinks bucket by bucket, and loses nothing on the way.
func TestIndexGrowsAndShrinks(t *testing.T) {
	r := newRig(t, keeping, memory(4<<20))
	n := scale.Times(20_000)
	most := uint64(0)
	for i := range n {
		before := r.buckets()
		r.put(numbered(i, 16), pattern(uint64(i), 4))
		if after := r.buckets(); after > before+1 {
			t.Fatalf("a Put made %d buckets out of %d", after, before)
		}
		most = max(most, r.buckets())
		if i%997 == 0 {
			r.check()
		}
	}
	for i := range n {
		if !r.has(i, 16, 4) {
			t.Fatalf("item %d is gone", i)
		}
	}
	for i := range n {
		r.remove(i, 16)
		if i%997 == 0 {
			r.check()
			for j := i + 1; j < n; j += 101 {
				if !r.has(j, 16, 4) {
					t.Fatalf("item %d is gone after %d were deleted", j, i+1)
				}
			}
		}
	}
	if most < uint64(n/14) || r.lines() != 1 {
		t.Errorf("there were up to %d buckets, and %d lines are left", most, r.lines())
	}
}

// Puts and Deletes around one number of items do not make the index grow and
// shrink in turn.
func TestIndexHasHysteresis(t *testing.T) {
	r := newRig(t, keeping)
	const n = 3000
	for i := range n {
		r.put(numbered(i, 16), nil)
	}
	before, changes := r.buckets(), 0
	for i := n; i < 2*n; i++ {
		r.remove(i-n, 16)
		r.put(numbered(i, 16), nil)
		if now := r.buckets(); now != before {
			before = now
			changes++
		}
	}
	if changes > n/100 {
		t.Errorf("the number of buckets changed %d times in %d Puts and Deletes", changes, 2*n)
	}
}

// An item of 16 + 32 bytes costs at most 24 bytes more, at any number of items
// that is not small.
func TestOverhead(t *testing.T) {
	n, size := 1_300_000, int64(128<<20)
	if testing.Short() || scale.Race {
		n, size = 60_000, 8<<20
	}
	fillTo(newRig(t, keeping, memory(size)), n, 24)
}

// fillTo puts items of 16 + 32 bytes and looks at their overhead.
func fillTo(r *rig, n int, most float64) {
	r.Helper()
	key, value := numbered(0, 16), make([]byte, 32)
	worst, at, report := 0.0, 0, 2000
	for i := range n {
		copy(key, numbered(i, 16))
		r.put(key, value)
		if i < 2000 {
			continue // a line more or less counts
		}
		if o := r.overhead(); o > worst {
			worst, at = o, i+1
		}
		if i == report || i+1 == n {
			r.Logf("%9d items: %.3f bytes each beside key and value, %d buckets, %d overflow lines",
				i+1, r.overhead(), r.buckets(), r.spill)
			report += report / 4
		}
	}
	r.Logf("the most was %.3f bytes at %d items", worst, at)
	if worst > most {
		r.Errorf("%.3f bytes beside key and value at %d items, at most %.0f", worst, at, most)
	}
}

// A full cache whose items are constantly replaced has no higher
// overhead.
func TestOverheadOfFullCache(t *testing.T) {
	size := 8 << 20
	if scale.Race {
		size = 1 << 20
	}
	r := newRig(t, memory(int64(size)))
	n := size / 72
	for i := range 4 * n {
		r.put(numbered(i, 16), make([]byte, 32))
	}
	st := r.Stats()
	t.Logf("%d items, %.2f bytes each beside key and value; %.1f %% of the memory is used; %d entries were starved",
		st.Items, r.overhead(), 100*float64(st.IndexBytes+st.ItemBytes)/float64(st.Memory), r.starved)
	if o := r.overhead(); o > 24.5 {
		t.Errorf("%.2f bytes beside key and value", o)
	}
	if used := float64(st.IndexBytes+st.ItemBytes) / float64(st.Memory); used < 0.95 {
		t.Errorf("only %.1f %% of the memory is used", 100*used)
	}
}
