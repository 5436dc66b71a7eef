package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestExpire fills a store with items that expire; afterwards the next Put
// finds room at once.
func TestExpire(t *testing.T) {
	r := open(t, store.Store, 256<<10)
	n := 0
	for {
		k := key(n)
		if _, err := r.Put(k, store.Entry{Value: value(k, 100), Expires: 10}, store.Always(), 0); err != nil {
			break
		}
		n++
	}
	if int(r.heap.Mortal) != n {
		t.Errorf("%d items will expire, %d are counted", n, r.heap.Mortal)
	}
	for i := range n {
		k := key(1_000_000 + i)
		if _, err := r.Put(k, store.Entry{Value: value(k, 100)}, store.Always(), 10); err != nil {
			t.Fatalf("Put %d of %d after everything has expired: %v", i, n, err)
		}
	}
	if r.heap.Mortal != 0 || int(r.Stats().Expired) != n {
		t.Errorf("%d items expired, of which %d were reclaimed; %d are left", n, r.Stats().Expired, r.heap.Mortal)
	}
}

// TestTouchCountsMortals sets and clears the expiry of items.
func TestTouchCountsMortals(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	r.MustPut(key(1), 10)
	for i, c := range []struct{ expires, want int64 }{{0, 0}, {10, 1}, {20, 1}, {0, 0}, {5, 1}} {
		if err := r.Touch(key(1), c.expires, 0); err != nil {
			t.Fatal(err)
		}
		if r.heap.Mortal != c.want {
			t.Errorf("step %d: %d items will expire, want %d", i, r.heap.Mortal, c.want)
		}
	}
	r.MustPut(key(1), 10)
	if r.heap.Mortal != 0 {
		t.Errorf("%d items will expire after a Put", r.heap.Mortal)
	}
}
