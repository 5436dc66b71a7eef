package storetest

import (
	"slices"

	"github.com/remora-kv/remora/store"
)

func prefetchCases() []*testCase {
	return slices.Concat(
		both("prefetch/hints", "they may be called for keys that do not exist", hints),
		both("prefetch/changes", "have no effect on results.", hintsBeforeChanges),
	)
}

// hintsBeforeChanges gives hints for items, changes one in each way, and gets all.
func hintsBeforeChanges(t *trial) {
	tb := t.open()
	tb.refusable = true
	keys := make([][]byte, hinted)
	for i := range keys {
		keys[i] = command{key: byte(i)}.keyBytes()
	}
	changes := []func(key []byte, round int){
		func(key []byte, _ int) { tb.tryDel(key, store.Always()) },
		func(key []byte, _ int) { tb.tryTouch(key, tb.now+50) },
		func(key []byte, _ int) { tb.tryTouch(key, tb.now) },
		func(key []byte, round int) {
			tb.tryPut(key, store.Entry{Value: pattern(uint64(round), 20)}, store.Always())
		},
		func(key []byte, round int) {
			tb.tryPut(key, store.Entry{Value: pattern(uint64(round), 900), Flags: 1}, store.Always())
		},
		func([]byte, int) { tb.now += 100 },
		func(_ []byte, round int) { // others that take its place, where there is a need
			for i := range 20 {
				tb.tryPut(numbered(round*100+i, 16), store.Entry{Value: pattern(uint64(i), 3000)}, store.Always())
			}
		},
	}
	for round := range 70 * len(changes) {
		for i, key := range keys {
			tb.tryPut(key, store.Entry{Value: pattern(uint64(round+i), 20)}, store.Always())
		}
		tb.hint(0)
		changes[round%len(changes)](keys[round%len(keys)], round)
		for _, key := range keys {
			tb.get(key)
		}
	}
}

// hints gives hints for items, missing keys and hashes of all kinds, in an
// empty partition, a full one and one that was emptied: nothing may change.
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
		tb.sync() // also checks that Stats have not changed
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
