package mica

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// Items of all sizes pass through a small cache many times; it stays consistent and
// within its memory, and has the latest item.
func TestWrapsWithAllSizes(t *testing.T) {
	for name, with := range map[string]func(*store.Config){"fifo": fifo, "cache": func(*store.Config) {}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				r := newRig(t, with, memory(store.MinMemory+int64(seed)*40_000), largest(60_000))
				wrapWithAllSizes(r, seeded(t, 30+seed))
			}
		})
	}
}

func wrapWithAllSizes(r *rig, random *rand.Rand) {
	steps, turns := scale.Times(10_000), 0
	for i := range steps {
		size := random.IntN(1 << random.IntN(14))
		if i%100 == 0 {
			size = len(r.mem)/4 + random.IntN(len(r.mem)/3)
		}
		size = min(size, 60_000)
		wrapped := r.wrapped
		key := numbered(random.IntN(5000), 8+i%50)
		r.put(key, pattern(uint64(i), size))
		if item, err := r.Get(r.key(key), 1); err != nil || !bytes.Equal(item.Value, pattern(uint64(i), size)) {
			r.Fatalf("step %d: the item that was put does not exist: %v", i, err)
		}
		if r.wrapped && !wrapped {
			turns++
		}
		if i%100 == 0 {
			r.check()
		}
	}
	if turns < steps/400 {
		r.Errorf("the log wrapped only %d times", turns)
	}
}

// The victim that was prefetched is forgotten when the log turns: the tail
// then reaches places that were rewritten since, maybe by the same call, which
// spared items.
func TestTurnForgetsVictim(t *testing.T) {
	r := newRig(t, memory(store.MinMemory))
	for i := 0; !r.wrapped; i++ {
		r.victim = victim{at: logStart, hash: 12345}
		r.put(numbered(i, 16), make([]byte, 100))
	}
	if first := r.hash(numbered(1, 16)); r.victim.hash != first || r.victim.at != r.tail {
		t.Errorf("the second item is the oldest now, but the victim is %+v", r.victim)
	}
}

// The largest possible item is accepted, alone; a larger one changes nothing.
func TestLargestItem(t *testing.T) {
	r := newRig(t, memory(store.MinMemory), largest(store.MinMemory))
	for i := range 500 {
		r.put(numbered(i, 16), pattern(uint64(i), 30))
	}
	most := r.firstLine + lineSize - smallestIndex - logStart - headerSize - expirySize - 16
	before := r.Stats()
	if err := r.try(numbered(1000, 16), make([]byte, most+1)); !errors.Is(err, store.ErrFull) {
		t.Fatalf("an item that is too large: %v", err)
	}
	before.Refused++
	if after := r.Stats(); after != before {
		t.Fatalf("a failed Put changed Stats from %+v to %+v", before, after)
	}
	for range 3 {
		r.put(numbered(1000, 16), pattern(1000, most))
		if !r.has(1000, 16, most) || r.stats.Items != 1 {
			t.Fatalf("the largest item is missing, or not alone: %+v", r.Stats())
		}
		r.check()
		r.put(numbered(1001, 16), pattern(1001, most))
		if !r.has(1001, 16, most) || r.has(1000, 16, most) {
			t.Fatal("the second of the largest items did not replace the first")
		}
		r.put(numbered(1, 16), nil)
		r.check()
	}
}

// A Put spares a bounded number of items, so that its work is bounded.
func TestSparingIsBounded(t *testing.T) {
	r := newRig(t)
	for i := 0; r.stats.Evicted == 0; i++ {
		r.put(numbered(i, 16), pattern(uint64(i), 32))
	}
	use := func() {
		r.Each(1, func(k store.Key, _ store.Item) bool {
			_, _ = r.Get(k, 1)
			return true
		})
	}
	use()
	for i := range 3000 {
		before := r.Stats()
		r.put(numbered(1_000_000+i, 16), pattern(1, 32))
		after := r.Stats()
		if spared := after.Rescued - before.Rescued; spared > sparedMost {
			t.Fatalf("a Put spared %d items", spared)
		}
		if evicted := after.Evicted - before.Evicted; evicted > 2 {
			t.Fatalf("a Put evicted %d items", evicted)
		}
	}
	if n := r.stats.Rescued; n < 3000 || n > 3000*sparedEach+sparedMost {
		t.Errorf("3000 Puts spared %d items", n)
	}
}

// A large item is spared too, if it comes first.
func TestSparesLargeItem(t *testing.T) {
	r := newRig(t, largest(200<<10))
	r.put([]byte("hot"), pattern(1, 200<<10))
	for i := range scale.Times(100_000) {
		r.put(numbered(i, 16), make([]byte, 32))
		if _, err := r.Get(r.key([]byte("hot")), 1); err != nil {
			t.Fatalf("after %d items the one that is used is gone: %+v", i, r.Stats())
		}
	}
}

// The border between log and index follows the size of items: when they become
// smaller, the index gets more, and the other way round.
func TestBorderMoves(t *testing.T) {
	for name, with := range map[string]func(*store.Config){"fifo": fifo, "cache": func(*store.Config) {}} {
		t.Run(name, func(t *testing.T) {
			total := scale.Times(1 << 20)
			r := newRig(t, with, memory(int64(total)))
			next := 0
			for _, size := range []int{2000, 10, 2000, 10, 300, 20_000, 30} {
				fresh := newRig(t, with, memory(int64(total)))
				var now, want store.Stats
				for range 2 * total / (size + 48) {
					r.put(numbered(next, 16), make([]byte, size))
					fresh.put(numbered(next, 16), make([]byte, size))
					next++
					now, want = r.Stats(), fresh.Stats()
				}
				t.Logf("values of %4d bytes: %5d items, index %6d bytes; in a new cache %5d and %6d",
					size, now.Items, now.IndexBytes, want.Items, want.IndexBytes)
				if now.Items < want.Items*9/10 || now.IndexBytes > want.IndexBytes*2+1024 {
					t.Errorf("values of %d bytes: %d items, index %d bytes; in a new cache %d and %d",
						size, now.Items, now.IndexBytes, want.Items, want.IndexBytes)
				}
				r.check()
			}
		})
	}
}
