package sharedlru

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestCheckReasons breaks a table in one place at a time, and expects Check to name it.
// The suite has a case for flipped bits.
func TestCheckReasons(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(t *Table, at ref)
	}{
		{"checksum mismatch", func(t *Table, at ref) { t.chunks.mem[uint64(at)*chunkSize+atHeadBody+3] ^= 1 }},
		{"has version", func(t *Table, _ ref) { t.last = 3 }},
		{"needs 3 chunks, but has 2", func(t *Table, at ref) { t.chunks.setLink(t.chunks.link(at, atNext), atNext, 0) }},
		{"two places", func(t *Table, at ref) { t.chunks.setLink(t.chunks.link(at, atNext), atNext, t.chunks.link(at, atNext)) }},
		{"of kind", func(t *Table, at ref) { t.chunks.setWord(at, atKind, uint32(kindBody)) }},
		{"was never used", func(t *Table, at ref) { t.chunks.setLink(at, atNext, t.chunks.fresh) }},
		{"wrong back link", func(t *Table, at ref) { t.chunks.setLink(at, atRowBefore, at) }},
		{"the LRU list points to", func(t *Table, at ref) { t.chunks.setLink(at, atNewer, at) }},
		{"the LRU list has", func(t *Table, at ref) { t.chunks.setLink(at, atOlder, 0) }},
		{"but the oldest is", func(t *Table, at ref) { t.order.oldest = at }},
		{"neither in an item", func(t *Table, _ ref) { t.chunks.firstFree = 0 }},
		{"chunks in free chains", func(t *Table, _ ref) { t.chunks.free++ }},
		{"have an expiry", func(t *Table, _ ref) { t.mortal++ }},
		{"Stats says", func(t *Table, _ ref) { t.shares[1].items++ }},
		{"Stats says", func(t *Table, _ ref) { t.shares[0].valueBytes-- }},
	} {
		table, err := New(store.Config{Memory: 1 << 20, Seed: seed}, 2)
		if err != nil {
			t.Fatal(err)
		}
		h := table.Handle(0)
		for i := range 40 {
			if _, err := h.Put(key(i), store.Entry{Value: make([]byte, 200)}, store.Always(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Delete(key(20), store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		k := key(10)
		c.spoil(table, table.find(&k))
		if err := h.Check(); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: Check says %v", c.what, err)
		}
		for i := range 2 {
			if err := table.Handle(i).Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
