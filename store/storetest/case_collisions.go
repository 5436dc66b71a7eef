package storetest

import (
	"encoding/binary"
	"runtime"
	"time"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

const (
	ruleCollide = "Colliding hashes, however many, cost a bounded amount of work per call and never cause a wrong answer."
	ruleCost    = "They may cause evictions in Cache mode, and an early ErrFull in Store mode."
	ruleHighest = "the highest bits choose the partition and are the same for all keys of a partition."
)

func collisionCases() []*testCase {
	var all []*testCase
	for _, f := range floods {
		all = join(all, both("S8/flood/"+f.name, ruleCollide, func(t *trial) { flood(t, f.hash) }))
	}
	return join(
		all,
		both("S8/beside-a-flood", ruleCost, besideFlood),
		both("S8/bounded-work", ruleCollide, boundedWork),
		both("S8/highest-bits", ruleHighest, highestBits),
	)
}

// floods are functions from the number of a key to hashes that collide.
var floods = []struct {
	name string
	hash func(i uint64) uint64
}{
	{"zero", func(uint64) uint64 { return 0 }},
	{"ones", func(uint64) uint64 { return ^uint64(0) }},
	{"one-hash", func(uint64) uint64 { return 0x5eed5eed5eed5eed }},
	{"equal-low-32", func(i uint64) uint64 { return patternWord(i, 0)<<32 | 0x12345678 }},
	{"equal-low-48", func(i uint64) uint64 { return i<<48 | 0x123456789abc }},
	{"equal-high-32", func(i uint64) uint64 { return patternWord(i, 0)>>32 | 0x12345678<<32 }},
	{"counting", func(i uint64) uint64 { return i }},
	{"counting-high", func(i uint64) uint64 { return i << 56 }},
	{"three-hashes", func(i uint64) uint64 { return i%3<<56 | 0x123456789abc }},
}

// byNumber makes a hash function for numbered keys from one for numbers.
func byNumber(hash func(i uint64) uint64) func(key []byte) uint64 {
	return func(key []byte) uint64 { return hash(binary.BigEndian.Uint64(key)) }
}

// flood makes all calls with keys that collide, while some of them expire.
func flood(t *trial, hash func(i uint64) uint64) {
	tb := t.open()
	tb.hash = byNumber(hash)
	tb.refusable = true
	random := t.random(0)
	taken := 0
	for i := range t.times(1500) {
		key := numbered(random.IntN(1000), 16)
		switch random.IntN(8) {
		case 0:
			tb.tryDel(key, store.Always())
		case 1:
			tb.tryTouch(key, tb.now+1+random.Int64N(100))
		case 2, 3, 4:
			tb.get(key)
			tb.now += random.Int64N(2)
		default:
			_, err := tb.put(key, store.Entry{Value: pattern(uint64(i), random.IntN(200))}, store.Always())
			if err == nil {
				taken++
				tb.mustGet(key)
			} else if t.mode == store.Cache {
				t.Fatalf("Put: %v", err)
			}
		}
		if i%1000 == 0 {
			tb.sync()
		}
	}
	if taken < 2 {
		t.Fatalf("only %d items were accepted", taken)
	}
}

// besideFlood puts keys that collide and others that do not. Almost none of the
// others may be lost or refused.
func besideFlood(t *trial) {
	tb := t.open(memory(int64(5500 * max(190, 2*t.engine.Cell))))
	plain := tb.hash
	flooding := func([]byte) uint64 { return 0xabcdef }
	tb.refusable = true
	found := 0
	const n = 500
	for i := range n {
		tb.hash = flooding
		for j := range 10 {
			tb.tryPut(numbered(i*10+j, 16), store.Entry{Value: pattern(uint64(j), 20)}, store.Always())
		}
		tb.hash = plain
		// Some of the others collide by chance, and may be lost.
		tb.tryPut(numbered(i, 24), store.Entry{Value: pattern(uint64(i), 20)}, store.Always())
	}
	for i := range n {
		if tb.get(numbered(i, 24)) != nil {
			found++
		}
	}
	if found < n*98/100 {
		t.Fatalf("only %d of %d items exist, beside items that collide", found, n)
	}
}

// boundedWork checks that calls do not cost more the more keys collide. Times distinguish
// only large factors: searching all colliding keys costs hundreds of times a call without
// collisions, and twelve times as much with twelve times the keys. A bounded search costs
// about ten times such a call, however many keys collide. Other processes can disturb one
// measurement that much, but not each of several tries, whereas a search of all keys is slow
// in every try.
func boundedWork(t *trial) {
	if scale.Race {
		t.skip("times mean nothing in race builds")
	}
	n := t.times(workItems)
	base := t.workAmong(n, func(i uint64) uint64 { return patternWord(i, 0) }, func(_, _ time.Duration) bool { return false })
	for _, f := range floods[:5] {
		for try := 1; t.growsWith(n, f.name, f.hash, base); try++ {
			if try == workTries {
				t.Fatalf("among up to %d keys with hashes of the kind %s, Puts and Gets took too long in each of %d tries", n, f.name, try)
			}
		}
	}
}

// growsWith reports whether calls among n keys that collide take so long that they may have
// searched all of them; base is the time without collisions.
func (t *trial) growsWith(n int, kind string, hash func(i uint64) uint64, base time.Duration) bool {
	const manyTimes, grown = 40, 4
	var few, many time.Duration
	unbounded := false
	t.workAmong(n, hash, func(first, now time.Duration) bool {
		few, many = first, now
		unbounded = now > manyTimes*base && now > grown*first
		return unbounded
	})
	t.Logf("%s: %d Puts and Gets take %v, with a twelfth of the keys %v; without collisions %v", kind, workCalls, many, few, base)
	return unbounded
}

// workTries is in how many consecutive tries calls must take too long for a failure.
const workTries = 4

// workItems is the number of items when calls are timed last.
const workItems = 24_000

// workCalls is the number of Puts and Gets that are timed together.
const workCalls = 50

// workAmong puts n items, times calls after each twelfth of them, and returns the
// last time. It stops early if stop, given the first and the latest time, says so.
func (t *trial) workAmong(n int, hash func(i uint64) uint64, stop func(first, now time.Duration) bool) time.Duration {
	cfg := t.config()
	cfg.Memory = int64(n) * 256
	p, err := t.engine.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	key := make([]byte, 16)
	call := func(i int) {
		binary.BigEndian.PutUint64(key, uint64(i))
		k := store.Key{Hash: hash(uint64(i)), Bytes: key}
		_, _ = p.Put(k, store.Entry{Value: key}, store.Always(), 0)
		_, _ = p.Get(k, 0)
	}
	var first, now time.Duration
	for done := 0; done < n; {
		for range n / 12 {
			call(done)
			done++
		}
		now = leastOf(9, func() {
			for i := range workCalls {
				call(done + i)
			}
		})
		if first == 0 {
			first = now
		} else if stop(first, now) {
			break
		}
	}
	if err := p.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return now
}

// leastOf returns the shortest time of n runs.
func leastOf(n int, run func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := time.Duration(1 << 62)
	for range n {
		start := cpuTime()
		run()
		least = min(least, cpuTime()-start)
	}
	return least
}

// highestBits fills a partition whose keys all have the same highest bits, and
// one with other keys: both must hold as many.
func highestBits(t *trial) {
	fill := func(mask uint64) int64 {
		tb := t.open(memory(512 << 10))
		tb.refusable = true
		tb.hash = func(key []byte) uint64 { return tb.cfg.Seed.Hash(key)&^mask | 0x5555555555555555&mask }
		for i := range 512 << 10 / 100 {
			tb.tryPut(numbered(i, 16), store.Entry{Value: pattern(uint64(i), 100)}, store.Always())
		}
		tb.sync()
		return tb.stats.Items
	}
	all := fill(0)
	for _, bits := range []int{1, 4, 8} {
		if n := fill(^uint64(0) << (64 - bits)); n < all*95/100 {
			t.Fatalf("%d items fit if the highest %d bits are the same, %d if not", n, bits, all)
		}
	}
}
