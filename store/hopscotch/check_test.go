package hopscotch

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
	"github.com/remora-kv/remora/store/storetest"
)

// TestCheckReasons breaks a store in one place at a time, and expects Check to name it. The
// suite has a case for flipped bits.
func TestCheckReasons(t *testing.T) {
	newStore := func() *rig {
		table, err := New(store.Config{Memory: store.MinMemory, Mode: store.Store, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Table: table, Rig: storetest.Rig{TB: t, Partition: table}}
		for i := range 10 {
			r.MustPut(r.homed(i, 40), 10)     // inline and in a chain
			r.MustPut(r.homed(100+i, 50), 90) // in blocks
		}
		return r
	}
	for _, c := range []struct {
		what  string
		spoil func(r *rig)
	}{
		{"checksum mismatch", func(r *rig) { r.inline(40).Value()[5] ^= 1 }},
		{"checksum mismatch", func(r *rig) { r.block(r.lead(50).offset()).Value()[5] ^= 1 }},
		{"has version", func(r *rig) { r.heap.Last = 3 }},
		{"block at", func(r *rig) { r.heap.SetWord(r.lead(50).offset(), 0) }},
		{"its block has", func(r *rig) {
			off := r.lead(50).offset() + atBody + extent.BodyFlags
			r.heap.SetWord(off, r.heap.Word(off)+1<<40)
		}},
		{"found 0 times", func(r *rig) { r.vacate(50, 50) }},
		{"found 0 times", func(r *rig) { r.setSlotWord(50, atChain, 0) }},
		{"the word of home", func(r *rig) { r.setSlotWord(40, atHome, uint64(r.home(40).leave(2))) }},
		{"of place 3", func(r *rig) { r.clearEntry(43) }},
		{"label", func(r *rig) { r.setSlotWord(41, atLabel, uint64(r.label(41))^1) }},
		{"of version", func(r *rig) { r.setSlotWord(50, atLabel, uint64(r.label(50))^1<<20) }},
		{"inline item", func(r *rig) { r.setSlotWord(41, atLead, uint64(r.lead(41))^1<<15) }},
		{"link", func(r *rig) { r.setSlotWord(40, atChain, uint64(r.chain(40))^1) }},
		{"link", func(r *rig) { r.setSlotWord(60, atChain, 1<<63) }},
		{"words that point", func(r *rig) { r.setSlotWord(60, atChain, uint64(r.linkTo(r.lead(50).offset()))) }},
		{"of them inline; the counters say", func(r *rig) { r.inlines++ }},
		{"the counters say", func(r *rig) { r.heap.Mortal++ }},
		{"the counters say", func(r *rig) { r.heap.KeyBytes++ }},
	} {
		r := newStore()
		r.MustCheck()
		c.spoil(r)
		if err := r.Check(); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("want %q, got: %v", c.what, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
