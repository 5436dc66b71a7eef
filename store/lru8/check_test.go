package lru8

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

// TestCheckReasons breaks a store in one place at a time, and expects Check to name
// it. The suite has a case for flipped bits.
func TestCheckReasons(t *testing.T) {
	newStore := func() *rig {
		table, err := New(store.Config{Memory: store.MinMemory, Mode: store.Store, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{table, storetest.Rig{TB: t, Partition: table}}
		for i := range 20 {
			r.MustPut(colliding(i), 100)
			r.MustPut(key(i), i*10)
		}
		for i := range 10 {
			_ = r.Delete(key(2*i), store.Always(), 0)
		}
		return r
	}
	for _, c := range []struct {
		what  string
		spoil func(r *rig)
	}{
		{"checksum mismatch", func(r *rig) { r.record(r.blockOf(colliding(3))).Value()[5] ^= 1 }},
		{"has version", func(r *rig) { r.heap.Last = 3 }},
		{"found 0 times", func(r *rig) { p := r.locate(r.blockOf(key(3))); p.b.setSlot(p.i, p.b.slot(p.i)^1<<50) }},
		{"empty slot before", func(r *rig) { r.bucketAt(r.bucketOf(colliding(0).Hash)).setSlot(2, 0) }},
		{"invalid link", func(r *rig) { r.bucketAt(r.bucketOf(colliding(0).Hash)).setSlot(0, linkTo(r.heap.First())) }},
		{"points out", func(r *rig) { r.bucketAt(0).setSlot(0, slotFor(1<<40, 0)) }},
		{"unknown kind", func(r *rig) { r.heap.SetKind(r.blockOf(key(1)), 9) }},
		{"end at", func(r *rig) { binary.LittleEndian.PutUint64(r.heap.Mem()[r.heap.End():], 0) }},
		{"the counters say", func(r *rig) { r.heap.Items++ }},
		{"the counters say", func(r *rig) { r.heap.KeyBytes++ }},
		{"overflow buckets of", func(r *rig) { r.chainBytes++ }},
		{"the counters say", func(r *rig) { r.heap.Mortal++ }},
	} {
		r := newStore()
		r.MustCheck()
		c.spoil(r)
		err := r.Check()
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: Check says %v", c.what, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
