package cuckoo

import (
	"slices"
	"testing"
)

// TestChoices checks that the choices of a key are different buckets, spread evenly.
func TestChoices(t *testing.T) {
	for _, buckets := range []uint64{choices, 4, 1000, maxBuckets} {
		h := newHashing(buckets, seed)
		for i := range 2000 {
			tag := h.tagOf(key(i).Hash)
			c := h.choicesOf(tag)
			if c[0] == c[1] || c[0] == c[2] || c[1] == c[2] || max(c[0], c[1], c[2]) >= buckets {
				t.Fatalf("%d buckets: choices %v", buckets, c)
			}
			if h.homeOf(tag) != c[0] {
				t.Fatalf("%d buckets: home is %d, the choices are %v", buckets, h.homeOf(tag), c)
			}
		}
	}
	h := newHashing(1000, seed)
	for which := range choices {
		counts := make([]int, 1000)
		for i := range 100_000 {
			counts[h.choicesOf(h.tagOf(uint64(i)))[which]]++ // hashes that only count
		}
		if lowest, highest := slices.Min(counts), slices.Max(counts); lowest < 50 || highest > 160 {
			t.Errorf("choice %d: between %d and %d of 100 keys in a bucket", which, lowest, highest)
		}
	}
}

// TestSalt checks that another seed gives other choices.
func TestSalt(t *testing.T) {
	a, b := newHashing(1<<20, 1), newHashing(1<<20, 2)
	same := 0
	for i := range uint64(1000) {
		same += one(a.homeOf(a.tagOf(i)) == b.homeOf(b.tagOf(i)))
	}
	if same > 5 {
		t.Errorf("%d of 1000 homes are the same", same)
	}
}
