package mica

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// A FIFO cache always has exactly the items that were put last, whether or not they
// were used, touched or overwritten in between.
func TestEvictsInOrder(t *testing.T) {
	r := newRig(t, fifo, memory(store.MinMemory))
	random := seeded(t, 4)
	written := []int{} // numbers of items in the order of their last Put
	sizes := map[int]int{}
	for step := range 4000 {
		i := random.IntN(600)
		sizes[i] = random.IntN(200)
		r.put(numbered(i, 16), pattern(uint64(i), sizes[i]))
		_, _ = r.Get(r.key(numbered(random.IntN(600), 16)), 1)
		for at, j := range written {
			if j == i {
				written = append(written[:at], written[at+1:]...)
				break
			}
		}
		written = append(written, i)
		if step%50 != 0 {
			continue
		}
		gone := len(written) - int(r.stats.Items)
		for at, j := range written {
			if there := r.has(j, 16, sizes[j]); there != (at >= gone) {
				t.Fatalf("step %d: item %d of %d exists: %v, although %d are gone", step, at, len(written), there, gone)
			}
		}
	}
	if r.stats.Rescued != 0 {
		t.Errorf("%d items were spared", r.stats.Rescued)
	}
}

// Used items stay while others pass; each use counts once.
func TestSecondChance(t *testing.T) {
	uses := map[string]func(r *rig, k store.Key){
		"get":   func(r *rig, k store.Key) { _, _ = r.Get(k, 1) },
		"touch": func(r *rig, k store.Key) { _ = r.Touch(k, 0, 1) },
		"expiry": func(r *rig, k store.Key) {
			_ = r.Touch(k, 1000, 1)
		},
		"overwrite": func(r *rig, k store.Key) {
			_, _ = r.Put(k, store.Entry{Value: make([]byte, 32)}, store.IfPresent(), 1)
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, memory(256<<10))
			const hot = 100
			n := max(scale.Times(40_000), 8000)
			for i := range hot {
				r.put(numbered(1_000_000+i, 16), make([]byte, 32))
			}
			for i := range n {
				r.put(numbered(i, 16), make([]byte, 32))
				use(r, r.key(numbered(1_000_000+i%hot, 16)))
			}
			for i := range hot {
				if r.find(r.hash(numbered(1_000_000+i, 16)), numbered(1_000_000+i, 16)).at == 0 {
					t.Errorf("item %d is gone although it was used", i)
				}
			}
			for i := range n {
				r.put(numbered(i, 16), make([]byte, 33))
			}
			for i := range hot {
				if r.has(1_000_000+i, 16, 32) {
					t.Errorf("item %d exists although it was not used for long", i)
				}
			}
		})
	}
}

// Expired and deleted items make room before any item is evicted, when the tail
// reaches them.
func TestExpiredAreNotEvicted(t *testing.T) {
	for _, with := range []func(*store.Config){fifo, func(*store.Config) {}} {
		r := newRig(t, with, memory(store.MinMemory))
		n := 0
		for ; r.stats.Evicted == 0; n++ {
			_, _ = r.Put(r.key(numbered(n, 16)), store.Entry{Value: make([]byte, 40), Expires: 10}, store.Always(), 1)
		}
		evicted, items := r.stats.Evicted, r.stats.Items
		for i := 2; i < n/2; i++ {
			_ = r.Delete(r.key(numbered(i, 16)), store.Always(), 1)
		}
		r.now = 10
		for i := range n / 2 {
			r.put(numbered(1_000_000+i, 16), make([]byte, 40))
		}
		if r.stats.Evicted != evicted {
			t.Errorf("%d items were evicted, though %d had been deleted and all others had expired", r.stats.Evicted-evicted, r.stats.Deletes)
		}
		for i := range n {
			r.put(numbered(2_000_000+i, 16), make([]byte, 40))
		}
		if want := uint64(items) - r.stats.Deletes; r.stats.Expired != want {
			t.Errorf("%d items expired, want %d", r.stats.Expired, want)
		}
	}
}

// An item displaced from a bucket is the oldest one there.
func TestDisplacesOldest(t *testing.T) {
	r := newRig(t, fifo)
	r.collide(floods["one-bucket"])
	for i := range 3 * maxEntries {
		r.put(numbered(i, 16), pattern(uint64(i), 5))
		for j := range i + 1 {
			if there := r.has(j, 16, 5); there != (j > i-maxEntries) {
				t.Fatalf("after item %d, item %d exists: %v", i, j, there)
			}
		}
	}
}
