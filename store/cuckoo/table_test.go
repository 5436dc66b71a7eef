package cuckoo

import (
	"math"
	"reflect"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

// TestArena checks that a table exports two read-only blocks, and frees them.
func TestArena(t *testing.T) {
	freed := 0
	a := store.NewArena(func(_ string, size int, writable bool) ([]byte, any, func() error, error) {
		if writable {
			t.Error("an exported block is writable by others")
		}
		return make([]byte, size), "region", func() error { freed++; return nil }, nil
	})
	table, err := New(store.Config{Arena: a, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	usage := a.Usage()
	if len(usage) != 2 || usage[0].Purpose != "cuckoo index" || usage[1].Purpose != "cuckoo items" {
		t.Errorf("%+v", usage)
	}
	if total := usage[0].Bytes + usage[1].Bytes + overhead; total != 1<<20 {
		t.Errorf("%d bytes of 1 MiB", total)
	}
	export := table.Export()
	if len(export.Areas) != 2 || export.Areas[indexArea].Size() != int(usage[0].Bytes) || export.Areas[itemArea].Owner() != "region" {
		t.Errorf("%+v", export)
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	if usage := a.Usage(); len(usage) != 0 || freed != 2 {
		t.Errorf("left after Close: %+v", usage)
	}
}

// TestOverhead checks that the memory reserved for the Table suffices (C1).
func TestOverhead(t *testing.T) {
	if size := reflect.TypeFor[Table]().Size() + layoutSize; size > overhead {
		t.Errorf("a Table has %d bytes, %d are set aside", size, overhead)
	}
}

func TestSplit(t *testing.T) {
	for _, memory := range []int64{store.MinMemory, 99_999, 1 << 20, 1 << 30, maxMemory} {
		for _, item := range []int{0, 48, 1000, 1 << 20, math.MaxInt32} {
			buckets, items := split(memory, item)
			if buckets < choices || buckets > maxBuckets || buckets*bucketSize+items+overhead != uint64(memory) || items < uint64(memory)/2 {
				t.Errorf("memory %d, items of %d bytes: %d buckets, %d bytes", memory, item, buckets, items)
			}
		}
	}
	// The share of the index for the papers' items.
	if buckets, _ := split(1<<30, DefaultItem); buckets*bucketSize*1000>>30 != 275 {
		t.Errorf("the index has %d bytes of 1 GiB", buckets*bucketSize)
	}
}

func TestNewFor(t *testing.T) {
	for _, item := range []int{0, 1, 48, 4096, 100 << 20} {
		table, err := NewFor(store.Config{Memory: 1 << 20, MaxValue: 4096, Seed: seed}, item)
		if err != nil {
			t.Fatal(err)
		}
		r := storetest.Rig{TB: t, Partition: table}
		r.MustPut(key(1), 1000)
		if !r.Has(key(1)) {
			t.Errorf("for items of %d bytes: the item does not exist", item)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
	if table, err := NewFor(store.Config{Memory: 1 << 20}, -1); err == nil {
		t.Error("items of -1 bytes", table.Close())
	}
	if table, err := New(store.Config{Memory: maxMemory + 1}); err == nil {
		t.Error("a memory beyond all offsets", table.Close())
	}
}
