package mica

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/store"
)

// Get changes only the bit that marks the item as used, and only if the table
// uses it.
func TestGetLeavesMemoryAlone(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with, memory(store.MinMemory))
		for i := range 100 {
			r.put(numbered(i, 16), pattern(uint64(i), i))
		}
		_, _ = r.Put(r.key([]byte("expires")), store.Entry{Expires: 5}, store.Always(), 1)
		before := bytes.Clone(r.mem)
		for range 2 {
			for i := range 200 {
				_ = r.has(i, 16, i)
			}
			_, _ = r.Get(r.key([]byte("expires")), 5)
		}
		used := 0
		for at := range r.mem {
			if r.mem[at] == before[at]|stateUsed && r.mem[at] != before[at] {
				used++
			} else if r.mem[at] != before[at] {
				t.Fatalf("byte %d was %#x and is %#x", at, before[at], r.mem[at])
			}
		}
		if want := 100; r.spares && used != want || !r.spares && used != 0 {
			t.Errorf("%d items are marked as used", used)
		}
		if r.stats.Gets != 402 || r.stats.Hits != 200 {
			t.Errorf("%d Gets, %d hits", r.stats.Gets, r.stats.Hits)
		}
	})
}

// Appending to a view does not write into the table.
func TestViewsHaveNoCapacity(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		r.put(numbered(i, 16), pattern(uint64(i), 21))
	}
	r.Each(1, func(k store.Key, item store.Item) bool {
		if cap(k.Bytes) != 16 || cap(item.Value) != 21 {
			t.Errorf("a key of capacity %d, a value of %d", cap(k.Bytes), cap(item.Value))
		}
		if k.Hash != r.hash(k.Bytes) {
			t.Errorf("hash %#x, want %#x", k.Hash, r.hash(k.Bytes))
		}
		return true
	})
	if item, err := r.Get(r.key(numbered(1, 16)), 1); err != nil || cap(item.Value) != 21 {
		t.Errorf("a value of capacity %d: %v", cap(item.Value), err)
	}
}

// Each visits the oldest first, also when the log is wrapped.
func TestEachVisitsInOrder(t *testing.T) {
	r := newRig(t, fifo, memory(store.MinMemory))
	for i := range 2000 {
		r.put(numbered(i, 16), make([]byte, i%100))
		if i%100 != 0 {
			continue
		}
		last, visits := uint64(0), int64(0)
		r.Each(1, func(_ store.Key, item store.Item) bool {
			if item.Version <= last {
				t.Fatalf("version %d comes after %d", item.Version, last)
			}
			last = item.Version
			visits++
			return true
		})
		if last != uint64(i)+1 || visits != r.stats.Items {
			t.Fatalf("%d visits, the last one of version %d; there are %d items, the last is %d", visits, last, r.stats.Items, i+1)
		}
	}
}
