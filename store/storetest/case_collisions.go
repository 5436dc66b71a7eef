package storetest

import (
	"encoding/binary"
	"time"

	"github.com/remora-kv/remora/store"
)

const (
	ruleCollide = "Colliding hashes, however many, cost at most a bounded amount of work per call and never a wrong answer."
	ruleCost    = "In Cache mode they may cost items; in Store mode they may cost an early ErrFull."
	ruleHighest = "the highest bits choose the partition and are the same for all keys of one."
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

// floods are hashes that collide, by the number of a key.
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
}

// byNumber makes a hash of numbered keys from one of numbers.
func byNumber(hash func(i uint64) uint64) func(key []byte) uint64 {
	return func(key []byte) uint64 { return hash(binary.BigEndian.Uint64(key)) }
}

// flood does everything with keys that collide.
func flood(t *trial, hash func(i uint64) uint64) {
	tb := t.open()
	tb.hash = byNumber(hash)
	tb.refusable = true
	random := t.random(0)
	taken := 0
	for i := range t.times(6000) {
		key := numbered(random.IntN(1000), 16)
		switch random.IntN(8) {
		case 0:
			tb.tryDel(key, store.Always())
		case 1:
			tb.tryTouch(key, 1000)
		case 2, 3, 4:
			tb.get(key)
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
		t.Fatalf("only %d items were taken", taken)
	}
}

// besideFlood has keys that collide and others that do not.
func besideFlood(t *trial) {
	tb := t.open()
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
		key := numbered(i, 24)
		tb.mustPut(key, pattern(uint64(i), 20))
	}
	for i := range n {
		if tb.get(numbered(i, 24)) != nil {
			found++
		}
	}
	if found < n*98/100 {
		t.Fatalf("%d of %d items are there, beside items that collide", found, n)
	}
}

// boundedWork compares what a call costs among very many keys that collide with
// what it costs among as many that do not. A search that grows with the number
// of keys shows as a factor of thousands, a chain that is bounded as one of tens;
// the clock is only used to tell these apart.
func boundedWork(t *trial) {
	const most = 1000
	n := t.times(60_000)
	cost := func(hash func(i uint64) uint64, limit time.Duration) time.Duration {
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
		best := time.Duration(1 << 62)
		for done := 0; done < n; {
			for range n / 20 {
				call(done)
				done++
			}
			best = 1 << 62
			for range 5 { // the least disturbed of a few
				start := time.Now()
				for i := range 50 {
					call(done + i)
				}
				best = min(best, time.Since(start))
			}
			if best > limit {
				break
			}
		}
		if err := p.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		return best
	}
	base := cost(func(i uint64) uint64 { return patternWord(i, 0) }, time.Second)
	limit := most * max(base, 2*time.Microsecond)
	for _, f := range floods[:5] {
		c := cost(f.hash, limit)
		t.Logf("%s: 50 Puts and Gets take %v; without collisions %v", f.name, c, base)
		if c > limit {
			t.Fatalf("among up to %d keys with hashes of the kind %s, 50 Puts and Gets take %v; without collisions %v", n, f.name, c, base)
		}
	}
}

// highestBits fills a partition whose keys all have the same highest bits, and
// one whose keys do not: both must hold as much.
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
