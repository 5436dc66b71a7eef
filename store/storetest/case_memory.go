package storetest

import (
	"runtime"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

const ruleMemory = "The bytes that the engine uses, all purposes together, never exceed Config.Memory."

func memoryCases() []*testCase {
	return join(
		both("S4/mixed-operations", ruleMemory, memoryMixed),
		both("S4/arena", ruleMemory, memoryArena),
		both("S4/heap", ruleMemory, memoryHeap),
	)
}

// memoryMixed makes all kinds of calls on a small partition; the table checks Stats
// after each.
func memoryMixed(t *trial) {
	tb := t.open(memory(100_000))
	random := t.random(0)
	for i := range t.times(5000) {
		key := numbered(random.IntN(800), 8+random.IntN(3))
		switch random.IntN(8) {
		case 0:
			tb.tryDel(key, store.Always())
		case 1:
			tb.tryTouch(key, tb.now+random.Int64N(100))
		case 2:
			tb.get(key)
		case 3:
			tb.now += random.Int64N(10)
		default:
			size := random.IntN(1 << random.IntN(13))
			tb.tryPut(key, store.Entry{Value: pattern(uint64(i), size), Expires: random.Int64N(2) * (tb.now + 50)}, store.Always())
		}
		if most := tb.cfg.Memory; held(tb.cfg.Arena) > most {
			t.Fatalf("the arena allocated %d bytes, but Config.Memory is %d", held(tb.cfg.Arena), most)
		}
	}
}

// memoryArena checks how much partitions of many sizes allocate from the arena.
func memoryArena(t *trial) {
	for _, size := range []int64{store.MinMemory, 65_537, 1 << 20, 12_345_678, 1 << 26, 100_000_001} {
		if scale.Race && size > 1<<20 {
			break
		}
		tb := t.open(memory(size))
		if got := held(tb.cfg.Arena); got > size {
			t.Fatalf("a partition of %d bytes allocated %d", size, got)
		}
		tb.mustPut([]byte("k"), pattern(1, 1000))
		tb.mustGet([]byte("k"))
		if got := held(tb.cfg.Arena); got > size {
			t.Fatalf("a partition of %d bytes allocated %d", size, got)
		}
		tb.close()
	}
}

// memoryHeap checks how much a large partition takes from the Go heap, which the
// arena does not count: a struct, but no table.
func memoryHeap(t *trial) {
	if scale.Race {
		t.skip("in race builds the arena is on the heap")
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	cfg := t.config()
	cfg.Memory = 64 << 20
	before := heap()
	p, err := t.engine.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	key, value := make([]byte, 16), make([]byte, 16)
	// Measure in three parts: garbage of earlier cases may be collected at any time,
	// which would hide the growth of one part.
	n := min(50_000, int(cfg.Memory)/2/3/t.engine.cost(1))
	for part := range 3 {
		for i := range n {
			copy(key, numbered(part*n+i, 16))
			if _, err := p.Put(cfg.Seed.Key(key), store.Entry{Value: value}, store.Always(), 0); err != nil {
				t.Fatalf("Put: %v", err)
			}
		}
		now := heap()
		if grown := now - before; grown > 256<<10 {
			t.Fatalf("%d items in a partition of 64 MiB took %d bytes of the Go heap", n, grown)
		}
		before = now
	}
	if err := p.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}
