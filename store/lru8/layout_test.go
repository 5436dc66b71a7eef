package lru8

import (
	"math"
	"reflect"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestOverhead checks that the memory reserved for the Table suffices (L1).
func TestOverhead(t *testing.T) {
	if size := reflect.TypeFor[Table]().Size(); size > overhead {
		t.Errorf("a Table has %d bytes, %d are set aside", size, overhead)
	}
}

func TestSplit(t *testing.T) {
	for _, memory := range []int64{store.MinMemory, 99_999, 1 << 20, 1 << 30, maxMemory} {
		for _, item := range []int{0, 48, 1000, 1 << 20, math.MaxInt32} {
			buckets, items := split(memory, item)
			if buckets < 1 || buckets > 1<<32 || buckets*bucketSize+items+overhead != uint64(memory) || items < uint64(memory)/2 {
				t.Errorf("memory %d, items of %d bytes: %d buckets, %d bytes", memory, item, buckets, items)
			}
		}
	}
	// The share of the index for the papers' items.
	if buckets, _ := split(1<<30, DefaultItem); buckets*bucketSize*1000>>30 != 117 {
		t.Errorf("the index has %d bytes of 1 GiB", buckets*bucketSize)
	}
}

func TestNewFor(t *testing.T) {
	for _, item := range []int{0, 1, 48, 4096, 100 << 20} {
		a := store.NewArena(nil)
		table, err := NewFor(store.Config{Arena: a, Memory: 1 << 20}, item)
		if err != nil {
			t.Fatal(err)
		}
		k := key(1)
		if _, err := table.Put(k, store.Entry{Value: value(k, 1000)}, store.Always(), 0); err != nil {
			t.Errorf("items of %d bytes: %v", item, err)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []struct {
		memory int64
		item   int
	}{{1 << 20, -1}, {maxMemory + 1, 48}, {1, 48}} {
		if _, err := NewFor(store.Config{Memory: bad.memory}, bad.item); err == nil {
			t.Errorf("NewFor takes a memory of %d and items of %d", bad.memory, bad.item)
		}
	}
}

// TestBucketLoad measures how many items full buckets cost while there is memory,
// at the load that split aims for.
func TestBucketLoad(t *testing.T) {
	r := open(t, store.Cache, 8<<20)
	n := 0
	for ; r.heap.Free() >= blockSize(16, 32); n++ {
		r.MustPut(key(n), 32)
	}
	lost := r.Stats().Evicted
	t.Logf("%d of %d items were lost to full buckets before the memory was full", lost, n)
	if float64(lost) > 0.03*float64(n) {
		t.Errorf("%d of %d items were lost to full buckets", lost, n)
	}
}
