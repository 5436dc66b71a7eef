package mica

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/store"
)

// benchTable is a table with numbered keys of 16 bytes and values of 32.
type benchTable struct {
	*Table
	seed       store.Seed
	key, value []byte
}

func newBenchTable(b *testing.B, memory int64, mode store.Mode, eviction store.Eviction) *benchTable {
	b.Helper()
	t, err := New(store.Config{Memory: memory, Mode: mode, Eviction: eviction, Seed: 42})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := t.Close(); err != nil {
			b.Error(err)
		}
	})
	return &benchTable{t, 42, make([]byte, 16), make([]byte, 32)}
}

// keyOf makes the key of a number. Consecutive numbers are far apart in the
// index, but not in the log.
func (t *benchTable) keyOf(i uint64) store.Key {
	binary.LittleEndian.PutUint64(t.key, i)
	return t.seed.Key(t.key)
}

func (t *benchTable) put(b *testing.B, i uint64) {
	if _, err := t.Put(t.keyOf(i), store.Entry{Value: t.value}, store.Always(), 0); err != nil {
		b.Fatal(err)
	}
}

func (t *benchTable) fill(b *testing.B, n uint64) {
	for i := range n {
		t.put(b, i)
	}
}

// scramble is a permutation of the numbers below a power of two.
func scramble(i, n uint64) uint64 { return i * 0x9e3779b97f4a7c15 & (n - 1) }

// Sizes of tables: one that fits into a core's cache, and one that fits into no
// cache.
const (
	warmItems = 1 << 12
	coldItems = 1 << 23
	coldBytes = 1 << 30
)

func BenchmarkGetHit(b *testing.B)  { benchWarm(b, 0) }
func BenchmarkGetMiss(b *testing.B) { benchWarm(b, warmItems) }

// benchWarm gets keys from first on whose hashes are known already.
func benchWarm(b *testing.B, first uint64) {
	t := newBenchTable(b, 1<<20, store.Cache, store.SecondChance)
	t.fill(b, warmItems)
	keys := make([]store.Key, warmItems)
	for i := range keys {
		k := t.keyOf(first + uint64(i))
		keys[i] = store.Key{Hash: k.Hash, Bytes: append([]byte(nil), k.Bytes...)}
	}
	hits := t.stats.Hits
	i := 0
	for b.Loop() {
		_, _ = t.Get(keys[i&(warmItems-1)], 0)
		i += 7
	}
	if (t.stats.Hits == hits) != (first > 0) {
		b.Errorf("%d hits", t.stats.Hits-hits)
	}
}

func BenchmarkPutOverwrite(b *testing.B) {
	for _, e := range []store.Eviction{store.SecondChance, store.FIFO} {
		b.Run(fmt.Sprintf("eviction=%d", e), func(b *testing.B) {
			t := newBenchTable(b, 1<<20, store.Cache, e)
			t.fill(b, warmItems)
			i := uint64(0)
			for b.Loop() {
				t.put(b, i&(warmItems-1))
				i += 7
			}
		})
	}
}

// BenchmarkPutInsert fills an empty table, which grows.
func BenchmarkPutInsert(b *testing.B) {
	t := newBenchTable(b, max(1<<20, int64(b.N)*100), store.Store, store.FIFO)
	b.ResetTimer()
	t.fill(b, uint64(b.N))
}

// BenchmarkPutEvict puts new items into a cache that is full.
func BenchmarkPutEvict(b *testing.B) {
	for _, size := range []struct {
		name   string
		memory int64
	}{{"warm", 1 << 20}, {"cold", coldBytes}} {
		b.Run(size.name, func(b *testing.B) {
			t := newBenchTable(b, size.memory, store.Cache, store.SecondChance)
			n := uint64(size.memory / 64)
			t.fill(b, n)
			for b.Loop() {
				t.put(b, n)
				n++
			}
		})
	}
}

// BenchmarkCold gets items of a table that fits into no cache, one after the
// other and in batches with hints.
func BenchmarkCold(b *testing.B) {
	t := newBenchTable(b, coldBytes, store.Store, store.FIFO)
	t.fill(b, coldItems)
	b.Run("get", func(b *testing.B) {
		i := uint64(0)
		for b.Loop() {
			if _, err := t.Get(t.keyOf(scramble(i, coldItems)), 0); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("miss", func(b *testing.B) {
		i := uint64(0)
		for b.Loop() {
			if _, err := t.Get(t.keyOf(coldItems+scramble(i, coldItems)), 0); err == nil {
				b.Fatal("found")
			}
			i++
		}
	})
	for _, batch := range []int{4, 16} {
		b.Run(fmt.Sprintf("prefetch/batch=%d", batch), func(b *testing.B) { benchBatches(b, t, batch) })
	}
	b.Run("overwrite", func(b *testing.B) {
		i := uint64(0)
		for b.Loop() {
			t.put(b, scramble(i, coldItems))
			i++
		}
	})
}

// benchBatches hashes a batch of keys, hints at their lines, then at their
// items, and gets them.
func benchBatches(b *testing.B, t *benchTable, batch int) {
	keys, hashes, bytes := make([]store.Key, batch), make([]uint64, batch), make([]byte, 16*batch)
	i := uint64(0)
	for done := 0; done < b.N; done += batch {
		for j := range keys {
			key := bytes[16*j : 16*j+16]
			binary.LittleEndian.PutUint64(key, scramble(i, coldItems))
			keys[j] = t.seed.Key(key)
			hashes[j] = keys[j].Hash
			t.PrefetchIndex(hashes[j])
			i++
		}
		t.PrefetchItems(hashes)
		for j := range keys {
			if _, err := t.Get(keys[j], 0); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkPutAmongFlood puts keys of one hash, of which there are as many as there may be.
func BenchmarkPutAmongFlood(b *testing.B) {
	for _, length := range []int{16, 1 << 10, store.MaxKey} {
		for _, how := range []string{"flood", "none"} {
			b.Run(fmt.Sprintf("key=%d/%s", length, how), func(b *testing.B) {
				t := newBenchTable(b, 64<<20, store.Cache, store.SecondChance)
				plain := t.hash
				t.hash = func(key []byte) uint64 {
					h := plain(key) // costs what it costs
					if how == "flood" {
						h = 7
					}
					return h
				}
				t.key = make([]byte, length)
				i := uint64(0)
				for b.Loop() {
					t.put(b, i)
					i++
				}
			})
		}
	}
}
