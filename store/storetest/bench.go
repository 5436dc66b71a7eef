package storetest

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/store"
)

// Bench measures the calls of an engine. In Cache mode: Gets that hit and miss,
// Puts that insert, overwrite and evict; in Store mode: Puts that are refused.
// Items have 16 + 32 bytes (the papers' size) or 16 + 1024, in a table that
// is far larger than the CPU caches.
func Bench(b *testing.B, engine Engine) {
	for _, size := range []int{32, 1024} {
		suffix := fmt.Sprintf("/%d", size)
		b.Run("get-hit"+suffix, func(b *testing.B) { benchGet(b, engine, size, 0) })
		b.Run("get-ahead"+suffix, func(b *testing.B) { benchAhead(b, engine, size) })
		b.Run("get-miss"+suffix, func(b *testing.B) { benchGet(b, engine, size, 1<<32) })
		b.Run("put-overwrite"+suffix, func(b *testing.B) { benchOverwrite(b, engine, size) })
		b.Run("put-insert"+suffix, func(b *testing.B) { benchInsert(b, engine, size) })
		b.Run("put-evict"+suffix, func(b *testing.B) { benchEvict(b, engine, size) })
		b.Run("put-refused"+suffix, func(b *testing.B) { benchRefused(b, engine, size) })
	}
}

const (
	benchMemory = 256 << 20
	benchKeys   = 1 << 17
)

// benchTable is a partition and keys in a random order.
type benchTable struct {
	p    store.Partition
	seed store.Seed
	key  []byte
}

func newBench(b *testing.B, engine Engine, mode store.Mode) *benchTable {
	b.Helper()
	if !engine.has(mode) {
		b.Skip("the engine does not have this mode")
	}
	t := &benchTable{seed: 7, key: make([]byte, 16)}
	p, err := engine.New(store.Config{Arena: store.NewArena(nil), Memory: benchMemory, Mode: mode, Seed: t.seed})
	if err != nil {
		b.Fatal(err)
	}
	t.p = p
	return t
}

// close closes the partition, with the timer stopped.
func (t *benchTable) close(b *testing.B) {
	b.StopTimer()
	if err := t.p.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

// nth returns key number i; consecutive keys are in distant places.
func (t *benchTable) nth(i uint64) store.Key {
	fillPattern(t.key, i)
	return t.seed.Key(t.key)
}

func (t *benchTable) put(b *testing.B, i uint64, value []byte) {
	if _, err := t.p.Put(t.nth(i), store.Entry{Value: value}, store.Always(), 0); err != nil {
		b.Fatal(err)
	}
}

func (t *benchTable) fill(b *testing.B, n uint64, value []byte) {
	for i := range n {
		t.put(b, i, value)
	}
}

func benchGet(b *testing.B, engine Engine, size int, skip uint64) {
	t := newBench(b, engine, store.Cache)
	defer t.close(b)
	t.fill(b, benchKeys, make([]byte, size))
	hits := uint64(0)
	b.ResetTimer()
	for i := range uint64(b.N) {
		if _, err := t.p.Get(t.nth(skip+i*7919%benchKeys), 0); err == nil {
			hits++
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(hits)/float64(b.N), "hits/op")
}

// benchAhead is benchGet with hints: for the index of a key some Gets ahead, and for
// items of a batch, as a server gives them when several requests are waiting.
func benchAhead(b *testing.B, engine Engine, size int) {
	t := newBench(b, engine, store.Cache)
	defer t.close(b)
	p, ok := t.p.(store.Prefetcher)
	if !ok {
		b.Skip("the engine takes no hints")
	}
	t.fill(b, benchKeys, make([]byte, size))
	const ring = 8
	var keys [ring][16]byte
	var hashes [ring]uint64
	b.ResetTimer()
	for i := range uint64(b.N) {
		at := i % ring
		if i >= ring {
			if _, err := t.p.Get(store.Key{Hash: hashes[at], Bytes: keys[at][:]}, 0); err != nil {
				b.Fatal(err)
			}
		}
		fillPattern(keys[at][:], i*7919%benchKeys)
		hashes[at] = t.seed.Hash(keys[at][:])
		p.PrefetchIndex(hashes[at])
		half := (at + ring/2) % ring
		p.PrefetchItems(hashes[half : half+1])
	}
}

func benchOverwrite(b *testing.B, engine Engine, size int) {
	t := newBench(b, engine, store.Cache)
	defer t.close(b)
	value := make([]byte, size)
	t.fill(b, benchKeys, value)
	b.ResetTimer()
	for i := range uint64(b.N) {
		t.put(b, i*7919%benchKeys, value)
	}
}

// benchInsert puts into a partition with room, and makes a new one when it
// is full.
func benchInsert(b *testing.B, engine Engine, size int) {
	value := make([]byte, size)
	t := newBench(b, engine, store.Cache)
	b.ResetTimer()
	for i := range uint64(b.N) {
		if i%benchKeys == benchKeys-1 {
			b.StopTimer()
			t.close(b)
			b.StopTimer()
			t = newBench(b, engine, store.Cache)
			b.StartTimer()
		}
		t.put(b, i, value)
	}
	t.close(b)
}

// benchEvict puts new keys into a full partition.
func benchEvict(b *testing.B, engine Engine, size int) {
	t := newBench(b, engine, store.Cache)
	defer t.close(b)
	value := make([]byte, size)
	n := uint64(benchMemory/(size+16)) + 1000
	t.fill(b, n, value)
	before := t.p.Stats().Evicted
	b.ResetTimer()
	for i := range uint64(b.N) {
		t.put(b, n+i, value)
	}
	b.StopTimer()
	b.ReportMetric(float64(t.p.Stats().Evicted-before)/float64(b.N), "evicted/op")
}

// benchRefused puts new keys into a full and fragmented store: every
// fourth item was deleted, and the new ones are twice as long.
func benchRefused(b *testing.B, engine Engine, size int) {
	t := newBench(b, engine, store.Store)
	defer t.close(b)
	value := make([]byte, 2*size)
	put := func(i uint64, value []byte) error {
		_, err := t.p.Put(t.nth(i), store.Entry{Value: value}, store.Always(), 0)
		return err
	}
	n := uint64(0)
	for put(n, value[:size]) == nil {
		n++
	}
	for i := uint64(0); i < n; i += 4 {
		_ = t.p.Delete(t.nth(i), store.Always(), 0)
	}
	for i := n; put(i, value) == nil; i++ {
	}
	refused := 0
	b.ResetTimer()
	for i := range uint64(b.N) {
		if put(1<<32+i, value) != nil {
			refused++
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(refused)/float64(b.N), "refused/op")
}
