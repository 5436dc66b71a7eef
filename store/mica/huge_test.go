package mica

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestHuge is 100 million items of 16 + 32 bytes in 12 GiB, in the partitions
// that a server of two cores makes of them. It needs 8 GiB of memory and some
// minutes, so it runs on demand: REMORA_HUGE=1.
func TestHuge(t *testing.T) {
	if os.Getenv("REMORA_HUGE") == "" {
		t.Skip("set REMORA_HUGE=1 to run it")
	}
	const items, cores, most = 100_000_000, 2, 24
	cfg := store.Config{
		Arena: store.NewArena(nil), Memory: 12 << 30 / cores, Mode: store.Store,
		Seed: 0x5eed5eed5eed5eed, FirstVersion: 1 << 45,
	}
	var parts [cores]*rig
	for i := range parts {
		parts[i] = newRigOf(t, cfg)
	}
	key, value := make([]byte, 16), make([]byte, 32)
	keyOf := func(i int) (*rig, store.Key) {
		binary.BigEndian.PutUint64(key, uint64(i))
		k := cfg.Seed.Key(key)
		return parts[store.PartitionOf(k.Hash, cores)], k
	}
	worst := 0.0
	for i := range items {
		r, k := keyOf(i)
		binary.BigEndian.PutUint64(value, uint64(i))
		if _, err := r.Put(k, store.Entry{Value: value}, store.Always(), r.now); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if i > 100_000 {
			worst = max(worst, r.overhead())
		}
		if (i+1)%(items/10) == 0 {
			t.Logf("%9d items: %.3f and %.3f bytes each beside key and value", i+1, parts[0].overhead(), parts[1].overhead())
		}
	}
	t.Logf("the most at any number of items from 100,000 on was %.3f bytes", worst)
	if worst > most {
		t.Errorf("%.3f bytes beside key and value, at most %d", worst, most)
	}
	for i := range items {
		r, k := keyOf(i)
		if item, err := r.Get(k, r.now); err != nil || binary.BigEndian.Uint64(item.Value) != uint64(i) {
			t.Fatalf("item %d: %x, %v", i, item.Value, err)
		}
	}
	var all store.Stats
	for _, r := range parts {
		st := r.Stats()
		all.Items += st.Items
		all.IndexBytes += st.IndexBytes
		all.ItemBytes += st.ItemBytes
		t.Logf("%d items, %d bytes of items, %d of index; %d buckets, %d overflow lines", st.Items, st.ItemBytes, st.IndexBytes, r.buckets(), r.spill)
	}
	used := all.IndexBytes + all.ItemBytes
	t.Logf("%d items take %d bytes (%.2f GiB), %.3f each beside key and value", all.Items, used, float64(used)/(1<<30), float64(used)/items-48)
	if all.Items != items {
		t.Errorf("%d items are there, %d were put", all.Items, items)
	}
}
