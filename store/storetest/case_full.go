package storetest

import (
	"errors"

	"github.com/remora-kv/remora/store"
)

const (
	ruleKeeps   = "In Store mode an item that was Put without an error is kept until it is deleted, replaced or expires."
	ruleFailed  = "A Put that fails changes nothing: an existing item stays, with its version."
	ruleRefuses = "In Store mode it refuses new items when it is full."
	ruleReclaim = "The engine reclaims its memory when it comes across the item."
)

func fullCases() []*testCase {
	return join(
		inStore("S3/keeps", ruleKeeps, keeps),
		inStore("S3/refuses-at-fill", ruleRefuses, refusesAtFill),
		inStore("S3/small-items", ruleKeeps, smallItems),
		inStore("S3/room-after-delete", ruleRefuses, roomAfterDelete),
		inStore("S3/room-after-expiry", ruleReclaim, roomAfterExpiry),
		inStore("S3/full-overwrite", ruleFailed, fullOverwrite),
		both("S3/failed-put", ruleFailed, failedPut),
	)
}

// patience is how many consecutive Puts must be refused before a store counts as
// full: a single one may have met an unlucky bucket.
const patience = 20

// fillUp puts items numbered from first on until the store is full. It returns
// how many were accepted before the first refusal, and in all.
func (tb *table) fillUp(first, keySize int, entry func(i int) store.Entry) (before, taken int) {
	tb.Helper()
	refused := 0
	before = -1
	for i := first; refused < patience; i++ {
		e := entry(i)
		e.Value = tb.cutValue(e.Value)
		_, err := tb.put(numbered(i, keySize), e, store.Always())
		if err == nil {
			taken++
			refused = 0
			continue
		}
		if !errors.Is(err, store.ErrFull) {
			tb.Fatalf("Put into a store that may be full: %v", err)
		}
		if refused++; before < 0 {
			before = taken
		}
	}
	return before, taken
}

// fixed returns entries of one size.
func fixed(size int) func(i int) store.Entry {
	return func(i int) store.Entry { return store.Entry{Value: pattern(uint64(i), size), Flags: uint32(i)} }
}

// payload returns the share of the memory that keys and values take.
func (tb *table) payload() float64 {
	return float64(tb.stats.KeyBytes+tb.stats.ValueBytes) / float64(tb.cfg.Memory)
}

// keeps fills a store with all sizes, continues to put, and reads all items.
func keeps(t *trial) {
	tb := t.open()
	random := t.random(0)
	for i := range t.times(1500) {
		tb.tryPut(numbered(random.IntN(3000), 16), store.Entry{Value: pattern(uint64(i), random.IntN(600))}, store.Always())
	}
	tb.fillUp(10_000, 16, fixed(300))
	for _, r := range tb.model.items {
		tb.mustGet(r.key)
	}
	if tb.stats.Refused == 0 {
		t.Fatalf("the store was never full: %+v", tb.stats)
	}
}

// refusesAtFill measures the fill of a store at its first refusal.
func refusesAtFill(t *trial) {
	tb := t.open()
	tb.refusable = true
	before, taken := tb.fillUp(0, 24, fixed(1000))
	first := float64(before*(24+len(tb.cutValue(make([]byte, 1000))))) / float64(tb.cfg.Memory)
	t.Logf("items of 1 KiB: the first refusal at %.1f %% of the memory, the last at %.1f %%", 100*first, 100*tb.payload())
	if first < t.engine.fill() {
		t.Fatalf("refused at %.1f %% of the memory, want at least %.1f %%", 100*first, 100*t.engine.fill())
	}
	for i := range taken {
		tb.get(numbered(i, 24)) // the table compares the result with the model
	}
}

// smallItems measures how many small items fit: each may need at most 128 bytes beside
// key and value, unless all items are of one size.
func smallItems(t *trial) {
	tb := t.open(memory(2 << 20))
	tb.refusable = true
	before, _ := tb.fillUp(0, 16, fixed(32))
	t.Logf("items of 48 bytes: %d before the first refusal, %.1f bytes each", before, float64(tb.cfg.Memory)/float64(before))
	most := int(tb.cfg.Memory) / (48 + 128)
	if t.engine.Cell > 0 {
		most = int(t.engine.fill() * float64(tb.cfg.Memory) / float64(t.engine.Cell))
	}
	if before < most {
		t.Fatalf("refused after %d small items, want at least %d", before, most)
	}
}

// roomAfterDelete deletes a tenth of a full store, and fills the memory again.
func roomAfterDelete(t *trial) {
	tb := t.open()
	_, taken := tb.fillUp(0, 16, fixed(500))
	freed := 0
	for i := 0; i < taken; i += 10 {
		if tb.del(numbered(i, 16), store.Always()) == nil {
			freed++
		}
	}
	again := 0
	for i := range freed {
		if _, err := tb.put(numbered(1_000_000+i, 16), fixed(500)(i), store.Always()); err == nil {
			again++
		}
	}
	least := freed * 9 / 10
	if t.engine.Cell > 0 {
		least = freed / 2 // a free cell may be out of reach of a key
	}
	if again < least {
		t.Fatalf("%d items were deleted, but only %d of the same size were accepted", freed, again)
	}
	for i := range taken {
		tb.get(numbered(i, 16))
	}
}

// roomAfterExpiry lets half of a full store expire. The engine may need several
// Puts to come across the expired items.
func roomAfterExpiry(t *trial) {
	tb := t.open()
	_, taken := tb.fillUp(0, 16, func(i int) store.Entry {
		return store.Entry{Value: pattern(uint64(i), 500), Expires: int64(i%2) * 1000}
	})
	tb.now = 1000
	again := 0
	for i := 0; i < 20*taken && again < taken/2; i++ {
		if _, err := tb.put(numbered(1_000_000+i, 16), fixed(500)(i), store.Always()); err == nil {
			again++
		}
	}
	if again < taken/2*8/10 {
		t.Fatalf("%d items expired, but only %d of the same size were accepted", taken/2, again)
	}
	if tb.stats.Expired == 0 {
		t.Fatalf("Stats: nothing expired: %+v", tb.stats)
	}
	for i := 0; i < taken; i += 2 {
		tb.get(numbered(i, 16))
	}
}

// fullOverwrite replaces items of a full store: each Put is accepted, or refused
// without changing anything.
func fullOverwrite(t *trial) {
	tb := t.open()
	tb.fillUp(0, 16, fixed(500))
	random := t.random(0)
	for i := range t.times(500) {
		key := numbered(random.IntN(tb.fitting(500)), 16)
		if tb.model.items[string(key)] == nil {
			continue
		}
		old := len(tb.mustGet(key).value)
		_, err := tb.put(key, store.Entry{Value: pattern(uint64(i), 300+random.IntN(500))}, store.IfPresent())
		if r := tb.mustGet(key); err != nil && len(r.value) != old {
			t.Fatalf("a refused Put changed the value")
		}
	}
	tb.sync()
}

// fitting returns about how many items of a size fit into the memory.
func (tb *table) fitting(size int) int { return int(tb.cfg.Memory) / size }

// failedPut makes Puts of existing keys fail in all ways.
func failedPut(t *trial) {
	tb := t.open(maxValue(2 << 20))
	for i := range 300 {
		tb.mustPutEntry(numbered(i, 16), store.Entry{Value: pattern(uint64(i), 300), Flags: uint32(i), Expires: int64(1000 + i)})
	}
	if t.mode == store.Store {
		tb.fillUp(1000, 16, fixed(700))
	}
	items := tb.stats.Items
	for i := range 300 {
		key := numbered(i, 16)
		r := tb.mustGet(key)
		for _, try := range []struct {
			size int
			c    store.Condition
			want error
		}{
			{10, store.IfAbsent(), store.ErrExists},
			{300, store.IfVersion(r.version + 1), store.ErrVersion},
			{min(9000, tb.maxValue()), store.IfVersion(r.version - 1), store.ErrVersion},
			{tb.maxValue() + 1, store.Always(), store.ErrTooLarge},
			{2 << 20, store.Always(), tb.overLimit(store.ErrFull)},
		} {
			if try.size > 1<<20 && i%60 != 0 {
				continue
			}
			_, err := tb.put(key, store.Entry{Value: pattern(99, try.size), Flags: 99, Expires: 99}, try.c)
			if !errors.Is(err, try.want) {
				t.Fatalf("Put of %d bytes: %v, want %v", try.size, err, try.want)
			}
			tb.mustGet(key)
		}
	}
	if tb.stats.Items != items {
		t.Fatalf("failed Puts changed the number of items from %d to %d", items, tb.stats.Items)
	}
}
