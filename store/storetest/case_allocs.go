package storetest

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

const ruleAllocs = "No call allocates on the Go heap, reads a clock or takes a lock."

func allocCases() []*testCase {
	return join(
		both("S6/allocs", ruleAllocs, allocs),
		both("S6/allocs-full", ruleAllocs, allocsFull),
	)
}

// noAllocs fails if f allocates, counting the whole process.
func (t *trial) noAllocs(what string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Fatalf("%s: %v allocations per call, want none", what, n)
	}
}

// allocs makes all kinds of calls on a partition with room.
func allocs(t *trial) {
	if scale.Race {
		t.skip("allocations are not counted in race builds")
	}
	tb := t.open()
	p, seed := tb.p, tb.cfg.Seed
	there, not, fresh := seed.Key([]byte("there")), seed.Key([]byte("not there")), make([]byte, 8)
	value, short, scratch := pattern(1, 100), pattern(2, 10), make([]byte, store.CounterSize)
	version := tb.mustPut(there.Bytes, value)
	put := func(k store.Key, v []byte, c store.Condition) func() {
		return func() { _, _ = p.Put(k, store.Entry{Value: v}, c, 0) }
	}
	shorter, longer, other := put(there, short, store.Always()), put(there, value, store.Always()), put(not, value, store.Always())
	counter := put(not, []byte("1"), store.Always())
	visit := func(store.Key, store.Item) bool { return true }
	next := uint64(0)
	for _, call := range []struct {
		what string
		f    func()
	}{
		{"Get, hit", func() { _, _ = p.Get(there, 0) }},
		{"Get, miss", func() { _, _ = p.Get(not, 0) }},
		{"Put, same size", put(there, value, store.Always())},
		{"Put, shorter and longer", func() { shorter(); longer() }},
		{"Put, exists", put(there, value, store.IfAbsent())},
		{"Put, absent", put(not, value, store.IfPresent())},
		{"Put, other version", put(there, value, store.IfVersion(version+1<<40))},
		{"Put, too large", put(there, make([]byte, tb.cfg.MaxValue+1), store.Always())},
		{"Put, new", func() {
			next++
			fillPattern(fresh, next)
			_, _ = p.Put(seed.Key(fresh), store.Entry{Value: short}, store.Always(), 0)
		}},
		{"Delete", func() { other(); _ = p.Delete(not, store.Always(), 0) }},
		{"Delete, absent", func() { _ = p.Delete(not, store.Always(), 0) }},
		{"Touch", func() { _ = p.Touch(there, 0, 0) }},
		{"Touch, absent", func() { _ = p.Touch(not, 0, 0) }},
		{"Incr", func() { counter(); _, _, _ = store.Incr(p, not, 1, 0, scratch) }},
		{"Each", func() { p.Each(0, visit) }},
		{"Stats", func() { _ = p.Stats() }},
	} {
		t.noAllocs(call.what, call.f)
	}
	if pre, ok := p.(store.Prefetcher); ok {
		hashes := []uint64{there.Hash, not.Hash}
		t.noAllocs("Prefetch", func() { pre.PrefetchIndex(there.Hash); pre.PrefetchItems(hashes) })
	}
	tb.drop()
}

// allocsFull puts, gets and deletes in a full partition: the Puts evict in a
// cache and are refused by a store.
func allocsFull(t *trial) {
	if scale.Race {
		t.skip("allocations are not counted in race builds")
	}
	tb := t.open(memory(256 << 10))
	p, seed := tb.p, tb.cfg.Seed
	key, value := make([]byte, 16), pattern(1, 2000)
	n := uint64(0)
	round := func() {
		n++
		fillPattern(key, n)
		size := 1 + int(n*37%1999)
		_, _ = p.Put(seed.Key(key), store.Entry{Value: value[:size], Expires: int64(n%3) * int64(n+100)}, store.Always(), int64(n))
		_, _ = p.Get(seed.Key(key), int64(n))
		fillPattern(key, n-n%50)
		_ = p.Touch(seed.Key(key), int64(n+50), int64(n))
		if n%10 == 0 {
			_ = p.Delete(seed.Key(key), store.Always(), int64(n))
		}
	}
	for range 2000 {
		round()
	}
	t.noAllocs("mixed calls on a full partition", func() {
		for range 50 {
			round()
		}
	})
	tb.drop()
}
