package slots

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/remora-kv/remora/store"
)

// scattered returns key number i. The homes of consecutive numbers are spread more evenly than at
// random, which the theory assumes.
func scattered(i int) store.Key {
	return seed.Key(binary.LittleEndian.AppendUint64(nil, xxh3.HashSeed(nil, uint64(i))))
}

// TestProbes compares the number of slots that a search reads with the theory of linear probing,
// at the paper's load (1024 keys in 4096 slots) and above.
func TestProbes(t *testing.T) {
	for _, fill := range []float64{0.25, 0.5, 0.75} {
		const n = 4096
		keys := int(fill * n)
		found, hits, misses := 0, 0, 0
		for round := range 4 {
			r := open(t, store.Store, n)
			for i := range keys {
				k := scattered(round<<32 + i)
				_, _ = r.Put(k, store.Entry{Value: k.Bytes}, store.Always(), 0) // a Put into a full window is refused
			}
			found += int(r.Stats().Items)
			for i := range keys {
				outcome, spans := r.search(scattered(round<<32 + i))
				if outcome == store.Found {
					hits += spans
				}
				outcome, spans = r.search(scattered(round<<32 + 1<<30 + i))
				if outcome != store.Missing {
					t.Fatalf("absent key %d: outcome %d", i, outcome)
				}
				misses += spans
			}
			r.MustCheck()
		}
		if found < 4*keys*99/100 {
			t.Errorf("only %d of %d keys were accepted", found, 4*keys)
		}
		mean := float64(hits) / float64(found)
		theory := (1 + 1/(1-fill)) / 2
		t.Logf("load %.2f: %.2f slots for an existing key, in theory %.2f; %.2f for a missing one, in theory %.2f",
			fill, mean, theory, float64(misses)/float64(4*keys), (1+1/(1-fill)/(1-fill))/2)
		if math.Abs(mean-theory) > theory/10 {
			t.Errorf("load %.2f: %.2f slots for an existing key, in theory %.2f", fill, mean, theory)
		}
	}
}

// TestFirstRefusal measures how full a store gets before it refuses a key.
func TestFirstRefusal(t *testing.T) {
	for _, n := range []int{100, 1000, 4096, 30_000} {
		least := 1.0
		for round := range 5 {
			r := open(t, store.Store, n)
			for i := 0; r.Stats().Refused == 0; i++ {
				_, _ = r.Put(scattered(round<<32+i), store.Entry{}, store.Always(), 0)
			}
			least = min(least, float64(r.Stats().Items)/float64(n))
		}
		t.Logf("%d slots: the first key is refused at a fill of %.2f or more", n, least)
		if least < 0.5 {
			t.Errorf("%d slots: the first key is refused at a fill of %.2f", n, least)
		}
	}
}

// TestWindow puts as many keys of one home as its window holds, past the end of the
// table: the next Put is refused, and all keys are found.
func TestWindow(t *testing.T) {
	r := open(t, store.Store, 100)
	keys := r.colliding(70, storeWindow+1)
	for i, k := range keys[:storeWindow] {
		r.put(k)
		r.want(k, store.Found, i+1)
	}
	last := keys[storeWindow]
	//lint:ignore errorlint as it is
	if _, err := r.Put(last, store.Entry{}, store.Always(), 0); err != store.ErrFull {
		t.Fatalf("one more: %v", err)
	}
	r.want(last, store.Missing, storeWindow)
	r.MustCheck()
	if err := r.Delete(keys[50], store.Always(), 0); err != nil {
		t.Fatal(err)
	}
	r.put(last)
	r.want(last, store.Found, 51)
	r.MustCheck()
}

// TestTombstones deletes at the end of a run and in its middle: items behind are found,
// and a run without items is empty again.
func TestTombstones(t *testing.T) {
	r := open(t, store.Store, 100)
	keys := r.colliding(98, 6)
	for _, k := range keys {
		r.put(k)
	}
	remove := func(i int) {
		t.Helper()
		if err := r.Delete(keys[i], store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		r.MustCheck()
	}
	remove(2)
	r.want(keys[5], store.Found, 6)
	r.want(keys[2], store.Missing, 7)
	remove(4)
	remove(5) // and with it the tombstone before it
	r.want(keys[3], store.Found, 4)
	r.want(keys[5], store.Missing, 5)
	remove(3)
	r.want(keys[3], store.Missing, 3)
	remove(0)
	remove(1)
	r.want(keys[0], store.Missing, 1)
	for i := range r.n {
		if r.shadow(i).state() != empty || headOf(r.slot(i)) != 0 {
			t.Errorf("slot %d is not empty", i)
		}
	}
}

// TestAgain reads a slot whose checksum never matches.
func TestAgain(t *testing.T) {
	r := open(t, store.Store, 100)
	k := key(1)
	r.put(k)
	slot := r.slot(r.find(k))
	slot[atValue] ^= 1
	r.want(k, store.Ask, maxAgain+1)
	slot[atValue] ^= 1
	r.want(k, store.Found, 1)
}

// TestStrangeBytes reads slots with impossible lengths and states and a matching checksum.
func TestStrangeBytes(t *testing.T) {
	r := open(t, store.Store, 100)
	for _, change := range []func(slot []byte){
		func(slot []byte) { slot[0] = 3 },
		func(slot []byte) { slot[7] = MaxKey + 1 },
		func(slot []byte) { slot[7] = 255 },
		func(slot []byte) { binary.LittleEndian.PutUint32(slot[atLength:], MaxValue+1) },
		func(slot []byte) { binary.LittleEndian.PutUint32(slot[atLength:], math.MaxUint32) },
	} {
		slot := make([]byte, slotSize)
		binary.LittleEndian.PutUint64(slot, uint64(newHead(1, 8)))
		change(slot)
		binary.LittleEndian.PutUint64(slot[atSum:], sumOf(slot, headOf(slot), 0))
		r.f.Start(key(1))
		if _, outcome := r.f.Look(slot); outcome != store.More {
			t.Errorf("% x: outcome %d", slot[:8], outcome)
		}
	}
	for _, n := range []int{0, 8, slotSize - 1, slotSize + 1} {
		r.f.Start(key(1))
		if _, outcome := r.f.Look(make([]byte, n)); outcome != store.Ask {
			t.Errorf("%d bytes: outcome %d", n, outcome)
		}
	}
}

func TestBadLayouts(t *testing.T) {
	good := layoutOf(100, 64)
	for i := range good {
		bad := good
		bad[i] ^= 0x80
		if _, err := NewFinder(bad[:]); err == nil && (i < 8 || i > 11) { // those are another number of slots
			t.Errorf("a layout with a changed byte %d is accepted", i)
		}
	}
	for _, bad := range [][2]uint64{{0, 1}, {100, 0}, {10, 11}, {100, 65}, {maxSlots + 1, 64}} {
		layout := layoutOf(bad[0], bad[1])
		if _, err := NewFinder(layout[:]); err == nil {
			t.Errorf("a layout of %d slots and a window of %d is accepted", bad[0], bad[1])
		}
	}
	if _, err := NewFinder(good[:15]); err == nil {
		t.Error("a short layout is accepted")
	}
}

// TestTooLong looks for a key that no slot can hold.
func TestTooLong(t *testing.T) {
	r := open(t, store.Store, 100)
	long := seed.Key(make([]byte, MaxKey+1))
	//lint:ignore errorlint as it is
	if _, err := r.Put(long, store.Entry{}, store.Always(), 0); err != store.ErrTooLarge {
		t.Fatalf("Put: %v", err)
	}
	//lint:ignore errorlint as it is
	if _, err := r.Put(key(1), store.Entry{Value: make([]byte, MaxValue+1)}, store.Always(), 0); err != store.ErrTooLarge {
		t.Fatalf("Put: %v", err)
	}
	for _, b := range r.slots {
		if b != 0 {
			t.Fatal("something was written")
		}
	}
	r.want(long, store.Missing, 1)
}
