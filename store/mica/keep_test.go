package mica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// A store is full at the same number of items whatever happened before:
// deleted memory is free again to the last byte (M8).
func TestFullAtTheSameNumber(t *testing.T) {
	for _, size := range []int{0, 32, 100, 1000, 10_000} {
		fresh := newRig(t, keeping, memory(int64(scale.Times(1<<20)))).fill(0, 16, size)
		r := newRig(t, keeping, memory(int64(scale.Times(1<<20))))
		random := seeded(t, 5)
		if n := r.fill(0, 16, size); n != fresh {
			t.Fatalf("values of %d bytes: %d items in one store, %d in another", size, fresh, n)
		}
		var there []int
		for i := range fresh {
			there = append(there, i)
		}
		next := fresh
		for round := range 12 {
			random.Shuffle(len(there), func(i, j int) { there[i], there[j] = there[j], there[i] })
			gone := 1 + random.IntN(len(there))
			if round%3 == 0 {
				gone = 1
			}
			for _, i := range there[:gone] {
				r.remove(i, 16)
			}
			there = there[gone:]
			for range gone {
				r.put(numbered(next, 16), pattern(uint64(next), size))
				there = append(there, next)
				next++
			}
			if err := r.try(numbered(next, 16), make([]byte, size)); !errors.Is(err, store.ErrFull) {
				t.Fatalf("values of %d bytes, round %d: one more than before: %v", size, round, err)
			}
			r.check()
		}
		for _, i := range there {
			if !r.has(i, 16, size) {
				t.Fatalf("values of %d bytes: item %d is lost", size, i)
			}
		}
	}
}

// Memory that held items of one size is free for any other.
func TestFullAfterOtherSizes(t *testing.T) {
	sizes := []int{0, 3000, 20, 100_000, 50, 700}
	r := newRig(t, keeping)
	for i, size := range sizes {
		want := newRig(t, keeping).fill(0, 16, size)
		first := i * 1_000_000
		if n := r.fill(first, 16, size); n < want*99/100 || n > want {
			t.Errorf("values of %d bytes: %d items, in a new store %d", size, n, want)
		}
		r.check()
		for j := first; r.stats.Items > 0; j++ {
			r.remove(j, 16)
		}
	}
}

// An item can be replaced by one of another size in a store that is full, as
// long as it fits in its place.
func TestReplaceWhenFull(t *testing.T) {
	r := newRig(t, keeping, memory(100_000), largest(100_000))
	r.put([]byte("large"), pattern(1, 80_000))
	for _, size := range []int{79_000, 60_000, 80_500, 10_000, 81_000} {
		r.put([]byte("large"), pattern(2, size))
		item, err := r.Get(r.key([]byte("large")), 1)
		if err != nil || !bytes.Equal(item.Value, pattern(2, size)) {
			t.Fatalf("a value of %d bytes: %v", size, err)
		}
		r.check()
	}
	version := r.version
	if err := r.try([]byte("large"), make([]byte, 99_000)); !errors.Is(err, store.ErrFull) {
		t.Fatalf("a value that does not fit: %v", err)
	}
	item, err := r.Get(r.key([]byte("large")), 1)
	if err != nil || !bytes.Equal(item.Value, pattern(2, 81_000)) || item.Version != version {
		t.Fatalf("the item that was to be replaced: %v", err)
	}
}

// Nothing is lost and everything fits that should, with sizes at random.
func TestKeepsAtRandom(t *testing.T) {
	for seed := range uint64(6) {
		r := newRig(t, keeping, memory(store.MinMemory+int64(seed)*50_000), largest(30_000))
		random := seeded(t, 100+seed)
		model := map[int]int{}                           // size by number
		for step := range max(scale.Times(8000), 2000) { // fewer do not fill the memory
			i := random.IntN(400)
			size := random.IntN(1 << random.IntN(15))
			switch random.IntN(4) {
			case 0:
				if _, ok := model[i]; ok {
					r.remove(i, 16)
					delete(model, i)
				}
			case 1:
				if size, ok := model[i]; ok != r.has(i, 16, size) {
					t.Fatalf("step %d: item %d of %d bytes does not exist", step, i, size)
				}
			default:
				err := r.try(numbered(i, 16), pattern(uint64(i), size))
				if err == nil {
					model[i] = size
				} else if !errors.Is(err, store.ErrFull) {
					t.Fatal(err)
				}
			}
			if step%100 == 0 {
				r.check()
			}
		}
		for i, size := range model {
			if !r.has(i, 16, size) {
				t.Fatalf("item %d of %d bytes does not exist", i, size)
			}
		}
		if r.stats.Refused == 0 || r.stats.Evicted > 0 || len(model) != int(r.stats.Items) {
			t.Errorf("%d items in the model: %+v", len(model), r.Stats())
		}
	}
}

// Touch always finds room for an expiry, also in a store that is full.
func TestTouchWhenFull(t *testing.T) {
	for _, size := range []int{0, 32, 200, 231, 5000} {
		r := newRig(t, keeping, memory(store.MinMemory))
		n := r.fill(0, 16, size)
		for i := range n {
			if err := r.Touch(r.key(numbered(i, 16)), 1000+int64(i), 1); err != nil {
				t.Fatalf("values of %d bytes: Touch of item %d of %d: %v", size, i, n, err)
			}
		}
		r.check()
		for i := range n {
			item, err := r.Get(r.key(numbered(i, 16)), 1)
			if err != nil || item.Expires != 1000+int64(i) || item.Version != uint64(i)+1 || !r.has(i, 16, size) {
				t.Fatalf("values of %d bytes: item %d expires at %d: %v", size, i, item.Expires, err)
			}
		}
		if r.try(numbered(n, 16), make([]byte, size)) == nil {
			t.Errorf("values of %d bytes: the full store accepts another item", size)
		}
	}
}
