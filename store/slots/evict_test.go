package slots

import (
	"math"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestEvictsOldest puts into a full window of unused items.
func TestEvictsOldest(t *testing.T) {
	r := open(t, store.Cache, 100)
	keys := r.colliding(95, 3*cacheWindow)
	for i, k := range keys {
		r.put(k)
		r.MustCheck()
		for j, other := range keys[:i+1] {
			want := store.Found
			if j <= i-cacheWindow {
				want = store.Missing
			}
			if got, _ := r.search(other); got != want {
				t.Fatalf("after %d keys, key %d: outcome %d, want %d", i+1, j, got, want)
			}
		}
	}
	if st := r.Stats(); st.Evicted != 2*cacheWindow || st.Rescued != 0 {
		t.Errorf("%+v", st)
	}
}

// TestEvictsByAccessCount lets clients use items: they survive as many evictions as
// their uses are worth.
func TestEvictsByAccessCount(t *testing.T) {
	for _, eviction := range []store.Eviction{store.SecondChance, store.FIFO} {
		r := open(t, store.Cache, 100)
		r.cfg.Eviction = eviction
		keys := r.colliding(0, cacheWindow+2*usePoints+1+cacheWindow)
		for _, k := range keys[:cacheWindow] {
			r.put(k)
		}
		if got, _ := r.search(keys[0]); got != store.Found {
			t.Fatal("the first key does not exist")
		}
		span, ok := r.f.Touch()
		if !ok || span.Off != int64(r.find(keys[0])*slotSize+8) {
			t.Fatalf("Touch: %+v, %v", span, ok)
		}
		r.count(r.find(keys[0])).Add(2) // two uses
		next, survived := cacheWindow, 0
		for ; r.find(keys[0]) != nowhere; next++ {
			r.put(keys[next])
			survived++
		}
		if eviction == store.FIFO {
			if survived != 1 {
				t.Errorf("FIFO: survived %d", survived-1)
			}
			continue
		}
		if survived-1 != 2*usePoints {
			t.Errorf("two uses outlived %d evictions, want %d", survived-1, 2*usePoints)
		}
		if st := r.Stats(); st.Rescued != uint64(2*usePoints) {
			t.Errorf("%+v", st)
		}
	}
}

// TestCountsAreHints sets access_count to any number: points stay bounded, and every Put is
// accepted.
func TestCountsAreHints(t *testing.T) {
	r := open(t, store.Cache, 100)
	keys := r.colliding(0, 500)
	for i, k := range keys {
		r.put(k)
		for _, wild := range []uint64{math.MaxUint64, 1 << 63, 0, 3} {
			at := uint64(i) % cacheWindow
			r.count(at).Store(wild)
			r.addClientUses(at)
			if p := r.shadow(at).points(); p > maxPoints {
				t.Fatalf("%d points", p)
			}
		}
		if i%50 == 0 {
			r.MustCheck()
		}
	}
}

// TestExpiredFirst checks that a new item takes the slot of an expired one, in both modes.
func TestExpiredFirst(t *testing.T) {
	for _, mode := range []store.Mode{store.Cache, store.Store} {
		r := open(t, mode, 100)
		keys := r.colliding(0, int(r.window)+1)
		for i, k := range keys[:r.window] {
			e := store.Entry{Value: k.Bytes}
			if i == 9 {
				e.Expires = 100
			}
			if _, err := r.Put(k, e, store.Always(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Put(keys[r.window], store.Entry{Value: keys[r.window].Bytes}, store.Always(), 100); err != nil {
			t.Fatal(err)
		}
		r.MustCheck()
		r.want(keys[r.window], store.Found, 10)
		if st := r.Stats(); st.Expired != 1 || st.Evicted != 0 {
			t.Errorf("%+v", st)
		}
	}
}
