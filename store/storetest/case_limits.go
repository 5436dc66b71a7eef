package storetest

import (
	"errors"
	"slices"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

const (
	ruleLengths = "A key has 0 to MaxKey bytes, a value up to Config.MaxValue"
	ruleConfig  = "Config configures a partition of any engine."
	ruleLargest = "ErrFull: in Store mode when there is no room, in Cache mode when the item alone is larger than the memory."
)

func limitCases() []*testCase {
	return join(
		both("S1/longest-key", ruleLengths, longestKey),
		both("S1/longest-value", ruleLengths, longestValue),
		both("S1/64MiB", ruleLengths, largestValue),
		both("S1/empty", ruleLengths, emptyItems),
		both("S3/larger-than-memory", ruleLargest, largerThanMemory),
		both("S4/small-memory", ruleConfig, smallMemory),
		both("S4/bad-config", ruleConfig, badConfig),
	)
}

func (tb *table) wantTooLarge(key, value []byte) {
	tb.Helper()
	for _, c := range []store.Condition{store.Always(), store.IfAbsent()} {
		if _, err := tb.put(key, store.Entry{Value: value}, c); !errors.Is(err, store.ErrTooLarge) {
			tb.Fatalf("Put of a key of %d and a value of %d bytes: %v", len(key), len(value), err)
		}
	}
}

// overLimit returns the error for an item that is larger than the memory: ErrTooLarge if the
// engine has limits.
func (tb *table) overLimit(err error) error {
	if tb.engine.limited() {
		return store.ErrTooLarge
	}
	return err
}

// longestKey also looks for keys that are too long.
func longestKey(t *trial) {
	tb := t.open()
	most := tb.maxKey()
	for _, n := range []int{most - 1, most} {
		key := pattern(3, n)
		tb.mustPut(key, pattern(4, 100))
		tb.mustGet(key)
		tb.tryTouch(key, 0)
		tb.get(key[1:])
	}
	for _, n := range []int{most + 1, 2*most + 1, store.MaxKey + 1, 2*store.MaxKey + 1, 1<<17 | 5} {
		key := pattern(3, n)
		tb.wantTooLarge(key, pattern(4, 100))
		if tb.get(key) != nil || tb.touch(key, 0) == nil || tb.del(key, store.Always()) == nil {
			t.Fatalf("a key of %d bytes exists", n)
		}
	}
	tb.mustGet(pattern(3, most))
	if err := tb.del(pattern(3, most), store.Always()); err != nil {
		t.Fatalf("Delete of the longest key: %v", err)
	}
}

func longestValue(t *trial) {
	for _, limit := range []int{1, 100, 4096, 65536, 0} {
		tb := t.open(memory(8<<20), maxValue(limit))
		limit = tb.maxValue()
		for i, n := range []int{limit - 1, limit} {
			key := numbered(i, 9)
			tb.mustPut(key, pattern(uint64(i), n))
			tb.mustGet(key)
			tb.wantTooLarge(key, pattern(9, limit+1))
			tb.mustGet(key)
		}
		tb.wantTooLarge(numbered(2, 9), pattern(9, limit+1))
		tb.wantTooLarge(numbered(2, 9), pattern(9, 3*limit))
		if tb.get(numbered(2, 9)) != nil {
			t.Fatalf("an item whose value is too long exists")
		}
	}
}

// largestValue puts the largest value that can be configured, beside others.
func largestValue(t *trial) {
	if t.engine.limited() {
		t.skip("the engine has limits of its own")
	}
	limit := store.MaxValueLimit
	if scale.Race {
		limit = 2 << 20 // under the race detector, writing the whole memory takes a minute
	}
	tb := t.open(memory(int64(limit)*5), maxValue(limit))
	tb.mustPut([]byte("small"), pattern(1, 10))
	large := pattern(2, limit)
	tb.mustPut([]byte("large"), large)
	tb.mustGet([]byte("large"))
	tb.mustGet([]byte("small"))
	longer := store.Entry{Value: append(large, 0)}
	if _, err := tb.p.Put(tb.key([]byte("large")), longer, store.Always(), 0); !errors.Is(err, store.ErrTooLarge) {
		t.Fatalf("Put of %d bytes: %v", len(longer.Value), err)
	}
	tb.mustGet([]byte("small"))
}

// emptyItems puts an empty key, nil and not, with empty values, nil and not.
func emptyItems(t *trial) {
	tb := t.open()
	for _, value := range [][]byte{nil, {}, {0}, nil} {
		for _, key := range [][]byte{nil, {}, {0}} {
			tb.mustPut(key, value)
			tb.mustGet(key)
		}
	}
	if _, err := tb.putAsIs(store.Key{Hash: tb.hash(nil)}, store.Entry{}, store.IfPresent()); err != nil {
		t.Fatalf("Put of a nil value under a nil key: %v", err)
	}
	tb.mustGet(nil)
	if err := tb.del(nil, store.Always()); err != nil {
		t.Fatalf("Delete of the empty key: %v", err)
	}
	if tb.get([]byte{}) != nil {
		t.Fatalf("the empty key exists after Delete")
	}
	tb.mustGet([]byte{0})
}

// largerThanMemory puts items that can never fit: nothing may change.
func largerThanMemory(t *trial) {
	tb := t.open(maxValue(2 << 20))
	for i := range 100 {
		tb.mustPut(numbered(i, 16), pattern(uint64(i), 200))
	}
	before := tb.stats
	for _, n := range []int{1 << 20, 2 << 20} {
		for _, key := range [][]byte{numbered(5, 16), numbered(1000, 16)} {
			if _, err := tb.put(key, store.Entry{Value: pattern(1, n)}, store.Always()); !errors.Is(err, tb.overLimit(store.ErrFull)) {
				t.Fatalf("Put of %d bytes into %d: %v", n, tb.cfg.Memory, err)
			}
		}
	}
	if tb.stats.Items != before.Items || tb.stats.Evicted != before.Evicted {
		t.Fatalf("failed Puts changed Stats: %+v before, %+v after", before, tb.stats)
	}
	for i := range 100 {
		tb.mustGet(numbered(i, 16))
	}
}

// smallMemory uses the smallest partition and odd sizes, with values that may be longer
// than the memory.
func smallMemory(t *trial) {
	for _, size := range []int64{store.MinMemory, store.MinMemory + 1, store.MinMemory + 4097, 99_999, 1<<18 - 1} {
		tb := t.open(memory(size))
		tb.mustPut([]byte("first"), pattern(1, int(size/8)))
		tb.mustGet([]byte("first"))
		random := t.random(int(size))
		for i := range t.times(500) {
			key := numbered(random.IntN(500), 12)
			_, err := tb.put(key, store.Entry{Value: pattern(uint64(i), random.IntN(400))}, store.Always())
			if t.mode == store.Cache && err != nil {
				t.Fatalf("Put: %v", err)
			}
			if err != nil {
				tb.tryDel(numbered(random.IntN(500), 12), store.Always())
			}
		}
		tb.close()
	}
}

// badConfig tries invalid configurations: New returns an error and leaves no memory behind.
func badConfig(t *trial) {
	for _, bad := range []func(cfg *store.Config){
		memory(0), memory(-1), memory(store.MinMemory - 1), maxValue(-1), maxValue(store.MaxValueLimit + 1),
		func(cfg *store.Config) { cfg.FirstVersion = store.MaxVersion },
		func(cfg *store.Config) { cfg.Mode = 9 },
		func(cfg *store.Config) { cfg.Eviction = 9 },
	} {
		cfg := t.config()
		bad(&cfg)
		p, err := t.engine.New(cfg)
		if err == nil {
			t.Fatalf("New accepts %+v: %v", cfg, p)
		}
		if left := cfg.Arena.Usage(); len(left) > 0 {
			t.Fatalf("New failed and left memory behind: %+v", left)
		}
	}
	cfg := t.config()
	cfg.Arena = nil // the engine uses its own
	p, err := t.engine.New(cfg)
	if err != nil {
		t.Fatalf("New without an arena: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

// held returns how many bytes an arena has allocated.
func held(a *store.Arena) int64 {
	var sum int64
	for u := range slices.Values(a.Usage()) {
		sum += u.Bytes
	}
	return sum
}
