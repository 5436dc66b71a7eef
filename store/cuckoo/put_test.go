package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestReplaceIsElsewhere replaces an item in another block between the READs of a search: the
// reader goes back to the bucket and finds the new item (C7).
func TestReplaceIsElsewhere(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	rd := r.reader()
	k := key(1)
	version := r.MustPut(k, 40)
	off := r.find(k.Hash, k.Bytes).off
	got := rd.Search(k, func(n int) {
		if n == 1 {
			version = r.MustPut(k, 40)
		}
	})
	if got != store.Found || rd.Item().Version != version || rd.Spans != 4 {
		t.Errorf("outcome %d, version %d of %d, after %d READs", got, rd.Item().Version, version, rd.Spans)
	}
	if now := r.find(k.Hash, k.Bytes).off; now == off {
		t.Error("the value was overwritten")
	}
}

// TestReplaceWhenFull overwrites items of a full store in place.
func TestReplaceWhenFull(t *testing.T) {
	r := open(t, store.Store, store.MinMemory)
	n := r.FillUp(0, 500)
	rd := r.reader()
	for i := range n {
		version := r.MustPut(key(i), 480+i%20)
		if rd.Search(key(i), nil) != store.Found || rd.Item().Version != version || !r.Has(key(i)) {
			t.Fatalf("key %d was lost", i)
		}
	}
}
