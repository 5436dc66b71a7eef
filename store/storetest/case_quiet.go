package storetest

import (
	"math/rand/v2"

	"github.com/remora-kv/remora/store"
)

func quietCases() []*testCase {
	return join(
		both("E2/after-each-call", ruleLater, afterEachCall),
		both("E2/all-items", ruleLater, allItems),
		both("E1/expired", "An item that has expired is Found: only the caller knows the time.", expiredIsFound),
		both("E1/similar-keys", ruleForged, similarExported),
		both("E2/one-hash", ruleLater, oneHash),
	)
}

// exportKey returns one of a few keys.
func exportKey(i int) []byte { return numbered(i, 8+i%9) }

// exportSize returns the length of a value: mostly short, up to the limit of the engine
// or a kilobyte.
func (x *exported) exportSize(random *rand.Rand) int {
	n := random.IntN(1 << random.IntN(11))
	return min(n, x.maxValue())
}

// change makes a random change of one key.
func (x *exported) change(random *rand.Rand, key []byte) {
	x.Helper()
	switch random.IntN(8) {
	case 0, 1:
		x.tryDel(key, store.Always())
	case 2:
		x.tryTouch(key, random.Int64N(2)*(1<<40+random.Int64N(1000)))
	default:
		x.tryPut(key, x.entry(random), store.Always())
	}
}

// entry returns an entry whose value is unique.
func (x *exported) entry(random *rand.Rand) store.Entry {
	return store.Entry{
		Value: pattern(x.model.last+1, x.exportSize(random)), Flags: random.Uint32(), Expires: random.Int64N(2) * (1<<40 + random.Int64N(1000)),
	}
}

// afterEachCall changes a few keys, and after each change looks for the changed one and for
// others.
func afterEachCall(t *trial) {
	x := t.openExport()
	random := t.random(0)
	for range t.times(1000) {
		key := exportKey(random.IntN(30))
		x.change(random, key)
		x.find(key)
		x.find(exportKey(random.IntN(30)))
	}
	x.auditAsks()
}

// allItems fills a partition, and looks for all its keys, and for as many others.
func allItems(t *trial) {
	x := t.openExport(memory(512 << 10))
	random := t.random(0)
	n := t.times(750)
	for range n {
		x.change(random, numbered(random.IntN(n/2), 16))
	}
	found := 0
	for i := range n / 2 {
		if x.find(numbered(i, 16)) == store.Found {
			found++
		}
		x.find(numbered(1_000_000+i, 16))
	}
	if found < min(20, n/8) { // n is small under the race detector
		t.Fatalf("only %d items were Found", found)
	}
	x.auditAsks()
}

// expiredIsFound looks for items after their expiry: they are Found as they were, unless Get,
// with a clock that steps back, shows that the engine has reclaimed them.
func expiredIsFound(t *trial) {
	x := t.openExport()
	for i := range 10 {
		x.tryPut(exportKey(i), store.Entry{Value: pattern(uint64(i), 20), Expires: int64(100 + i)}, store.Always())
	}
	found := 0
	for i := range 10 {
		s := x.start(exportKey(i))
		x.now = 1000
		if s.finish() == store.Found {
			found++
		}
		x.now = 0
	}
	if found == 0 {
		t.Fatalf("no item is Found after its expiry")
	}
	x.auditAsks()
}

// similarExported puts keys that are prefixes of each other, differ in one bit, or end
// in NULs.
func similarExported(t *trial) {
	x := t.openExport()
	base := pattern(7, 20)
	keys := [][]byte{{}, {0}, {0, 0}, base, base[:19], base[:8], append(base[:19:19], 0), append(base[:8:8], 0, 0)}
	for bit := 0; bit < 160; bit += 7 {
		other := pattern(7, 20)
		other[bit/8] ^= 1 << (bit % 8)
		keys = append(keys, other)
	}
	random := t.random(0)
	for range t.times(20) {
		for _, key := range keys {
			x.change(random, key)
			for _, other := range keys {
				x.find(other)
			}
		}
	}
	x.auditAsks()
}

// oneHash puts keys with one hash: those that the engine accepts are Found, unless the outcome is
// Ask.
func oneHash(t *trial) {
	x := t.openExport()
	x.hash = func([]byte) uint64 { return 0x5eed5eed5eed5eed }
	random := t.random(0)
	for range t.times(500) {
		key := exportKey(random.IntN(20))
		x.change(random, key)
		x.find(key)
		x.find(exportKey(random.IntN(20)))
	}
}
