package lru8

import (
	"container/list"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
)

// exactLRU is a cache with one LRU list over all items, and as much memory for blocks.
type exactLRU struct {
	free  int64
	items map[int]*list.Element
	order *list.List // of [2]int64, key and bytes, the most recent first
}

// use reports whether the key exists, and puts it if not.
func (x *exactLRU) use(key int, size int64) bool {
	if e := x.items[key]; e != nil {
		x.order.MoveToFront(e)
		return true
	}
	for x.free -= size; x.free < 0; {
		last, _ := x.order.Remove(x.order.Back()).([2]int64)
		x.free += last[1]
		delete(x.items, int(last[0]))
	}
	x.items[key] = x.order.PushFront([2]int64{int64(key), size})
	return false
}

// TestHitRatio compares the table with exact LRU: a look-aside cache
// under a Zipf distribution.
func TestHitRatio(t *testing.T) {
	steps := 120_000
	mixed := func(key int) int { return (key * 2654435761 >> 8) % (16 << (key % 9)) }
	for _, c := range []struct {
		name     string
		memory   int64
		expected int
		size     func(key int) int
	}{
		{"48 bytes", 2 << 20, DefaultItem, func(int) int { return 32 }},
		{"200 bytes, expected 48", 4 << 20, DefaultItem, func(int) int { return 184 }},
		{"200 bytes", 4 << 20, 200, func(int) int { return 184 }},
		{"4 KiB, expected 48", 16 << 20, DefaultItem, func(int) int { return 4080 }},
		{"0 to 2000 bytes", 8 << 20, DefaultItem, func(key int) int { return key * 2654435761 >> 8 % 2000 }},
		{"0 to 4096, short ones more often", 8 << 20, DefaultItem, mixed},
	} {
		table, err := NewFor(store.Config{Arena: store.NewArena(nil), Memory: c.memory}, c.expected)
		if err != nil {
			t.Fatal(err)
		}
		exact := &exactLRU{int64(table.heap.End() - table.heap.First()), map[int]*list.Element{}, list.New()}
		got, want := compareHits(t, table, exact, c.size, steps)
		t.Logf("%-34s hit ratio %.3f, exact LRU %.3f", c.name, got, want)
		if got < want-0.01 {
			t.Errorf("%s: hit ratio %.3f, exact LRU has %.3f", c.name, got, want)
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
}

// compareHits returns the hit ratios in the second half of the steps.
func compareHits(t *testing.T, table *Table, exact *exactLRU, size func(int) int, steps int) (got, want float64) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.01, 1, 100_000)
	for step := range steps {
		n := int(zipf.Uint64())
		k := key(n)
		_, err := table.Get(k, 0)
		if err != nil {
			if _, err := table.Put(k, store.Entry{Value: value(k, size(n))}, store.Always(), 0); err != nil {
				t.Fatal(err)
			}
		}
		hit := exact.use(n, int64(blockSize(16, size(n))))
		if step >= steps/2 {
			got += b2f(err == nil)
			want += b2f(hit)
		}
	}
	half := math.Ceil(float64(steps) / 2)
	return got / half, want / half
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
