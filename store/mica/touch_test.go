package mica

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/store"
)

// Touch changes the expiry in place if there is room for one, and rewrites
// the item if not; nothing else changes.
func TestTouch(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with)
		for _, c := range []struct {
			size    int
			flags   uint32
			from    int64
			to      int64
			inPlace bool
		}{
			{10, 0, 0, 0, true},
			{10, 0, 0, 50, false},
			{10, 7, 0, 50, false},
			{10, 0, 40, 50, true},
			{10, 7, 40, 0, true},
			{0, 0, 0, 50, false},
			{2000, 0, 0, 50, true},
			{2000, 7, 50, 0, true},
		} {
			k := r.key([]byte("key"))
			value := pattern(1, c.size)
			version, err := r.Put(k, store.Entry{Value: value, Flags: c.flags, Expires: c.from}, store.Always(), 1)
			if err != nil {
				t.Fatal(err)
			}
			before := r.find(k.Hash, k.Bytes).at
			if err := r.Touch(k, c.to, 1); err != nil {
				t.Fatal(err)
			}
			at := r.find(k.Hash, k.Bytes).at
			if c.inPlace != (at == before) {
				t.Errorf("%+v: the item was at %d and is at %d", c, before, at)
			}
			if used := r.metaOf(at)&metaUsed != 0; used != r.spares {
				t.Errorf("%+v: used is %v", c, used)
			}
			item, err := r.Get(k, 1)
			if err != nil || !bytes.Equal(item.Value, value) || item.Expires != c.to || item.Flags != c.flags || item.Version != version {
				t.Errorf("%+v: got %+v: %v", c, item, err)
			}
			r.check()
			_ = r.Delete(k, store.Always(), 1)
		}
		if r.stats.Evicted+r.stats.Expired != 0 {
			t.Errorf("%+v", r.Stats())
		}
	})
}

// Touch works on the oldest item of a full cache, which makes room for
// itself.
func TestTouchOldest(t *testing.T) {
	r := newRig(t, memory(store.MinMemory))
	next := 0
	for ; r.stats.Evicted == 0; next++ {
		r.put(numbered(next, 16), pattern(uint64(next), 31))
	}
	for range 2000 {
		var oldest store.Key
		r.Each(1, func(k store.Key, item store.Item) bool {
			oldest = store.Key{Hash: k.Hash, Bytes: k.Bytes}
			return item.Expires != 0 // the oldest that never expires
		})
		want := bytes.Clone(oldest.Bytes)
		if err := r.Touch(oldest, 100, 1); err != nil {
			t.Fatal(err)
		}
		if item, err := r.Get(r.key(want), 1); err != nil || item.Expires != 100 {
			t.Fatalf("expires at %d: %v", item.Expires, err)
		}
		r.put(numbered(next, 16), pattern(uint64(next), 31))
		next++
	}
}
