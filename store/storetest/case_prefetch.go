package storetest

import "github.com/remora-kv/remora/store"

func prefetchCases() []*testCase {
	return both("prefetch/hints", "Both hints may be given for keys that do not exist.", hints)
}

// hints gives hints for items, for nothing and for hashes of all kinds, in an
// empty partition, a full one and one that was emptied: nothing changes.
func hints(t *trial) {
	tb := t.open()
	p, ok := tb.p.(store.Prefetcher)
	if !ok {
		t.skip("the engine takes no hints")
	}
	random := t.random(0)
	hint := func() {
		for _, hash := range []uint64{0, ^uint64(0), 1 << 63, 1<<32 - 1, random.Uint64(), random.Uint64()} {
			p.PrefetchIndex(hash)
			p.PrefetchItems([]uint64{hash})
		}
		all := []uint64{0, ^uint64(0)}
		for _, r := range tb.model.items {
			p.PrefetchIndex(r.hash)
			all = append(all, r.hash)
		}
		p.PrefetchItems(all)
		p.PrefetchItems(nil)
		tb.sync() // Stats have not changed
	}
	hint()
	tb.refusable = true
	for i := range 3000 {
		tb.tryPut(numbered(i, 16), store.Entry{Value: pattern(uint64(i), i%700)}, store.Always())
	}
	hint()
	for _, r := range tb.sorted() {
		tb.tryDel(r.key, store.Always())
	}
	hint()
}
