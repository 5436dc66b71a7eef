package hopscotch

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// crowded returns a store with a full neighbourhood at home 40 and a full chain behind it.
func crowded(t *testing.T, shape shape) (r *rig, keys []store.Key) {
	t.Helper()
	r = openRig(t, shape, store.Store, store.MinMemory)
	for i := range reach + maxChain {
		keys = append(keys, r.homed(i, 40))
		r.MustPut(keys[i], 10+i)
	}
	return r, keys
}

// TestChain deletes, replaces and moves items of a chain; afterwards a Finder finds those that
// exist, and the others are Missing.
func TestChain(t *testing.T) {
	for name, shape := range shapes {
		r, keys := crowded(t, shape)
		if _, err := r.Put(r.homed(100, 40), store.Entry{}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
			t.Errorf("%s: Put into a full chain: %v", name, err)
		}
		there := func(i int) bool { return i%5 != 3 }
		for i, k := range keys {
			if !there(i) {
				if err := r.Delete(k, store.Always(), 0); err != nil {
					t.Fatal(err)
				}
				continue
			}
			r.MustPut(k, 10+i*11%70) // some in the same block, some in a longer one
			if p := r.find(k.Hash, k.Bytes); p.off != 0 && !r.heap.Move(p.off) {
				t.Fatal("there is no room to move an item")
			} else if p.off != 0 {
				r.heap.Give(p.off)
			}
			r.MustCheck()
		}
		for i, k := range keys {
			want := store.Missing
			if there(i) {
				want = store.Found
			}
			if o, n := r.search(k); o != want || n > maxSpans {
				t.Errorf("%s: item %d: outcome %d after %d spans, want %d", name, i, o, n, want)
			}
		}
	}
}

// TestChainExpires puts an item into a full chain, which drops an expired one.
func TestChainExpires(t *testing.T) {
	r, keys := crowded(t, NewVar)
	var in store.Key // in the middle of the chain
	for _, k := range keys[len(keys)/2:] {
		if r.find(k.Hash, k.Bytes).inChain() {
			in = k
			break
		}
	}
	if err := r.Touch(in, 50, 0); err != nil {
		t.Fatal(err)
	}
	k := r.homed(100, 40)
	if _, err := r.Put(k, store.Entry{}, store.Always(), 50); err != nil {
		t.Fatal(err)
	}
	if o, _ := r.search(in); o != store.Missing {
		t.Errorf("the item that has expired: outcome %d", o)
	}
}

// TestStaysInChain replaces an item of a chain after slots have become free: it stays in the
// chain, on which readers rely (H7).
func TestStaysInChain(t *testing.T) {
	r, keys := crowded(t, New)
	var chained []store.Key
	for _, k := range keys {
		if r.find(k.Hash, k.Bytes).inChain() {
			chained = append(chained, k)
		} else if err := r.Delete(k, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range chained {
		r.MustPut(k, 3)
		if !r.find(k.Hash, k.Bytes).inChain() {
			t.Fatal("an item moved from a chain into a slot")
		}
	}
}
