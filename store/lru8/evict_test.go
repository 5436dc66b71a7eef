package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestEvictOne puts into a full cache of items of one length: each Put evicts one item.
func TestEvictOne(t *testing.T) {
	r := open(t, store.Cache, 1<<20)
	n := 0
	for ; r.Stats().Evicted == 0 || r.heap.Free() >= blockSize(16, 200); n++ {
		r.MustPut(key(n), 200)
	}
	before := r.Stats()
	for i := range 5000 {
		r.MustPut(key(n+i), 200)
	}
	after := r.Stats()
	if cost := after.Evicted - before.Evicted; cost != 5000 || after.Items != before.Items {
		t.Errorf("5000 Puts cost %d items; %d are there, %d before", cost, after.Items, before.Items)
	}
}

// TestSpare uses one item among others: eviction passes it once.
func TestSpare(t *testing.T) {
	r := open(t, store.Cache, 1<<20)
	n := 0
	for ; r.Stats().Evicted == 0; n++ {
		r.MustPut(key(n), 200)
	}
	survivor := key(n - 1)
	for turn := range 3 {
		if !r.Has(survivor) {
			t.Fatalf("turn %d: the used item does not exist", turn)
		}
		for range r.Stats().Items { // about one round through all buckets
			r.MustPut(key(n), 200)
			n++
		}
	}
	if r.Stats().Rescued == 0 {
		t.Error("nothing was rescued")
	}
	for range 3 * r.Stats().Items { // without using it
		r.MustPut(key(n), 200)
		n++
	}
	if r.Has(survivor) {
		t.Error("the item still exists though it was not used")
	}
}

// TestAllUsed checks that a cache with only used items evicts some of them.
func TestAllUsed(t *testing.T) {
	r := open(t, store.Cache, 256<<10)
	for n := range 5000 {
		r.MustPut(key(n), 100)
		for i := max(0, n-2000); i < n; i += 97 {
			r.Has(key(i))
		}
		if !r.Has(key(n)) {
			t.Fatalf("key %d cannot be read back", n)
		}
	}
}

// TestEvictExpired checks that an expired victim counts as expired.
func TestEvictExpired(t *testing.T) {
	r := open(t, store.Cache, store.MinMemory)
	for i := range 2000 {
		k := key(i)
		if _, err := r.Put(k, store.Entry{Value: value(k, 200), Expires: int64(i + 1)}, store.Always(), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if st := r.Stats(); st.Evicted != 0 || st.Expired == 0 {
		t.Errorf("everything had expired: %+v", st)
	}
}
