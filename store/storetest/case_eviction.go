package storetest

import "github.com/remora-kv/remora/store"

const (
	ruleEvicts = "In Cache mode a partition evicts items to make room."
	ruleChance = "SecondChance evicts the oldest item that was not used since it was written or last spared."
	ruleFIFO   = "FIFO evicts the oldest item."
)

func evictionCases() []*testCase {
	return join(
		inCache("S1/read-back", ruleEvicts, readBack),
		inCache("S1/room-is-used", ruleEvicts, roomIsUsed),
		inCache("S1/fill", ruleEvicts, cacheFill),
		inCache("S1/size-mix", ruleEvicts, sizeMix),
		inCache("S1/recent", ruleEvicts, recent),
		inCache("S1/second-chance/get", ruleChance, func(t *trial) { hotAndScan(t, store.SecondChance, hotByGet) }),
		inCache("S1/second-chance/touch", ruleChance, func(t *trial) { hotAndScan(t, store.SecondChance, hotByTouch) }),
		inCache("S1/fifo", ruleFIFO, func(t *trial) { hotAndScan(t, store.FIFO, hotByGet) }),
	)
}

// readBack puts many times the memory in all sizes: each Put is accepted and can be
// read at once.
func readBack(t *trial) {
	for _, size := range []int64{store.MinMemory, 300_000} {
		tb := t.open(memory(size))
		random := t.random(int(size))
		for i := range t.times(2500) {
			n := random.IntN(1 << random.IntN(14))
			if i%500 == 0 {
				n = int(size)/4 - 100
			}
			key := numbered(random.IntN(5000), 8+i%50)
			tb.mustPut(key, pattern(uint64(i), n))
			tb.mustGet(key)
		}
	}
}

// roomIsUsed puts a tenth of the memory: almost nothing may be lost.
func roomIsUsed(t *trial) {
	tb := t.open(memory(4 << 20))
	n := 4 << 20 / 10 / t.engine.cost(116)
	for i := range n {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), 100))
	}
	found := 0
	for i := range n {
		if tb.get(numbered(i, 16)) != nil {
			found++
		}
	}
	if found < n*99/100 {
		t.Fatalf("only %d of %d items exist, in a tenth of the memory", found, n)
	}
}

// churn puts n new items of a size, numbered from first on.
func (tb *table) churn(first, n, size int) {
	tb.Helper()
	for i := first; i < first+n; i++ {
		tb.mustPut(numbered(i, 24), pattern(uint64(i), size))
	}
}

// cacheFill puts many times the memory: the cache stays full.
func cacheFill(t *trial) {
	tb := t.open()
	tb.churn(0, max(t.times(6000), 3*int(tb.cfg.Memory)/1000), 1000)
	tb.sync()
	t.Logf("items of 1 KiB take %.1f %% of the memory", 100*tb.payload())
	if tb.payload() < t.engine.fill() {
		t.Fatalf("items of 1 KiB take %.1f %% of the memory, want %.1f %%", 100*tb.payload(), 100*t.engine.fill())
	}
}

// sizeMix changes the size of items again and again: memory used for
// one size must serve for others (no calcification).
func sizeMix(t *trial) {
	tb := t.open(memory(512 << 10))
	next := 0
	for _, size := range []int{50, 4000, 300, 60_000, 100, 1500, 0} {
		n := 1 << 20 / (size + 80)
		fresh := t.open(memory(512 << 10))
		fresh.churn(next, n, size)
		tb.churn(next, n, size)
		next += n
		if tb.payload() < 0.75*fresh.payload() {
			t.Fatalf("after other sizes, values of %d bytes take %.1f %% of the memory, but %.1f %% in a new cache",
				size, 100*tb.payload(), 100*fresh.payload())
		}
		fresh.drop()
	}
}

// recent checks how many of the latest items remain, of as many as take a
// quarter of the memory.
func recent(t *trial) {
	for _, size := range []int{100, 1000, 8000} {
		tb := t.open()
		cost := t.engine.cost(size + 80)
		n, last := 3<<20/cost, 1<<20/4/cost
		tb.churn(0, n, size)
		found := 0
		for i := n - last; i < n; i++ {
			if tb.get(numbered(i, 24)) != nil {
				found++
			}
		}
		t.Logf("values of %d bytes: %d of the last %d exist", size, found, last)
		if found < last*7/10 {
			t.Fatalf("of the last %d items, a quarter of the memory, only %d exist", last, found)
		}
	}
}

func hotByGet(tb *table, key []byte) bool   { return tb.get(key) != nil }
func hotByTouch(tb *table, key []byte) bool { return tb.touch(key, 0) == nil }

// hotAndScan uses a few items again and again while others that are never used
// pass through the cache.
func hotAndScan(t *trial, e store.Eviction, use func(tb *table, key []byte) bool) {
	if !t.engine.KeepsUsed && e == store.SecondChance || !t.engine.TakesOldest && e == store.FIFO {
		t.skip("the engine makes no promise about this eviction")
	}
	const hot = 100
	tb := t.open(memory(int64(1000*t.engine.cost(262))), func(cfg *store.Config) { cfg.Eviction = e })
	for i := range hot {
		tb.mustPut(numbered(1_000_000+i, 24), pattern(uint64(i), 200))
	}
	for i := range 4000 {
		tb.mustPut(numbered(i, 24), pattern(uint64(i), 200))
		if i%2 == 0 {
			use(tb, numbered(1_000_000+i/2%hot, 24))
		}
	}
	left := 0
	for i := range hot {
		if tb.get(numbered(1_000_000+i, 24)) != nil {
			left++
		}
	}
	t.Logf("%d of %d used items survived %d Puts; %d rescued", left, hot, tb.stats.Puts, tb.stats.Rescued)
	if e == store.SecondChance && left < hot*8/10 {
		t.Fatalf("only %d of %d used items survived a scan", left, hot)
	}
	if e == store.FIFO && (left > hot/10 || tb.stats.Rescued > 0) {
		t.Fatalf("%d of %d items survived although they are the oldest; %d rescued", left, hot, tb.stats.Rescued)
	}
}
