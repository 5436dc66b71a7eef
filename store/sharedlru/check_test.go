package sharedlru

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestCheckReasons breaks a table in one place each, and expects Check to say where.
// That any flipped bit is noticed or unused is a case of the suite.
func TestCheckReasons(t *testing.T) {
	for _, c := range []struct {
		what  string
		spoil func(t *Table, at ref)
	}{
		{"checksums", func(t *Table, at ref) { t.chunks.mem[uint64(at)*chunkSize+atHeadBody+3] ^= 1 }},
		{"has version", func(t *Table, _ ref) { t.last = 3 }},
		{"of 3 chunks has 2", func(t *Table, at ref) { t.chunks.setLink(t.chunks.link(at, atNext), atNext, 0) }},
		{"two places", func(t *Table, at ref) { t.chunks.setLink(t.chunks.link(at, atNext), atNext, t.chunks.link(at, atNext)) }},
		{"of kind", func(t *Table, at ref) { t.chunks.setWord(at, atKind, uint32(kindBody)) }},
		{"not in use", func(t *Table, at ref) { t.chunks.setLink(at, atNext, t.chunks.fresh) }},
		{"not where row", func(t *Table, at ref) { t.chunks.setLink(at, atRowBefore, at) }},
		{"the order leads to", func(t *Table, at ref) { t.chunks.setLink(at, atNewer, at) }},
		{"in the order", func(t *Table, at ref) { t.chunks.setLink(at, atOlder, 0) }},
		{"the oldest is", func(t *Table, at ref) { t.order.oldest = at }},
		{"is lost", func(t *Table, _ ref) { t.chunks.firstFree = 0 }},
		{"chunks in free chains", func(t *Table, _ ref) { t.chunks.free++ }},
		{"will expire", func(t *Table, _ ref) { t.mortal++ }},
		{"Stats has", func(t *Table, _ ref) { t.shares[1].items++ }},
		{"Stats has", func(t *Table, _ ref) { t.shares[0].valueBytes-- }},
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
