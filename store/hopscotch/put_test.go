package hopscotch

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestInlineAndBack replaces an item by longer and shorter ones: it moves to a block and back
// inline, in the same slot.
func TestInlineAndBack(t *testing.T) {
	r := openRig(t, New, store.Store, store.MinMemory)
	k := key(1) // of 16 bytes
	slot := uint64(0)
	for i, c := range []struct {
		size   int
		inline bool
		spans  int
	}{{0, true, 1}, {40, true, 1}, {41, false, 2}, {4000, false, 2}, {100, false, 2}, {40, true, 1}} {
		version := r.MustPut(k, c.size)
		p := r.find(k.Hash, k.Bytes)
		if (p.off == 0) != c.inline || i > 0 && p.slot != slot {
			t.Fatalf("a value of %d bytes is at %+v", c.size, p)
		}
		slot = p.slot
		o, n := r.search(k)
		if item := r.finder.Item(); o != store.Found || n != c.spans || item.Version != version || !bytes.Equal(item.Value, value(k, c.size)) {
			t.Errorf("a value of %d bytes: outcome %d after %d spans, version %d", c.size, o, n, item.Version)
		}
		r.MustCheck()
	}
	if r.heap.Used() != 0 {
		t.Errorf("%d bytes are in blocks", r.heap.Used())
	}
}

// TestAllFields puts and touches items and finds all their fields by reading, expired or not.
func TestAllFields(t *testing.T) {
	for name, shape := range shapes {
		r := openRig(t, shape, store.Cache, store.MinMemory)
		for i, size := range []int{3, 300} {
			k := key(i)
			version, err := r.Put(k, store.Entry{Value: value(k, size), Flags: 0xf00d, Expires: 1000}, store.Always(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, expires := range []int64{1000, 70} {
				if err := r.Touch(k, expires, 0); err != nil {
					t.Fatal(err)
				}
				o, _ := r.search(k)
				if item := r.finder.Item(); o != store.Found || item.Version != version || item.Flags != 0xf00d || item.Expires != expires {
					t.Errorf("%s: outcome %d, %+v", name, o, item)
				}
			}
		}
	}
}
