package mica

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// In a full store, Puts that change the size of items constantly make
// garbage. The work of each Put is bounded,
// wherever the garbage is.
func TestWorkIsBounded(t *testing.T) {
	for _, order := range []string{"random", "ascending", "one"} {
		t.Run(order, func(t *testing.T) {
			r := newRig(t, keeping, memory(int64(scale.Times(4<<20))))
			n := r.fill(0, 16, 100)
			for i := n * 99 / 100; i < n; i++ {
				r.remove(i, 16)
			}
			n = n * 99 / 100
			random := seeded(t, 6)
			var most, all uint64
			puts := 3 * n
			for step := range puts {
				i := step % n
				switch order {
				case "random":
					i = random.IntN(n)
				case "one":
					i = 17
				}
				before := r.swept
				r.put(numbered(i, 16), make([]byte, 60+40*(step%2)))
				most = max(most, r.swept-before)
				all += r.swept - before
			}
			t.Logf("%d Puts of up to 132 bytes: passes went over %d bytes each, at most %d", puts, all/uint64(puts), most)
			if most > 100*132 || all/uint64(puts) > 20*132 {
				t.Errorf("passes went over %d bytes for each Put, at most %d", all/uint64(puts), most)
			}
		})
	}
}

// Puts into a half-empty store cause little work.
func TestWorkIsLessWithRoom(t *testing.T) {
	r := newRig(t, keeping, memory(int64(scale.Times(4<<20))))
	n := r.fill(0, 16, 100) / 2
	for i := n; r.stats.Items > int64(n); i++ {
		r.remove(i, 16)
	}
	random := seeded(t, 7)
	before := r.swept
	for step := range 10 * n {
		r.put(numbered(random.IntN(n), 16), make([]byte, 60+40*(step%2)))
	}
	if each := (r.swept - before) / uint64(10*n); each > 3*132 {
		t.Errorf("passes went over %d bytes for each Put of up to 132", each)
	}
}

// Expired items make room: a store that fills up reclaims them before it is full, and
// a full store finds them.
func TestExpiredMakeRoom(t *testing.T) {
	r := newRig(t, keeping)
	n := r.fill(0, 16, 100)
	for i := range n {
		if i%2 == 0 {
			if err := r.Touch(r.key(numbered(i, 16)), 50, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.try([]byte("one more"), make([]byte, 100)); !errors.Is(err, store.ErrFull) {
		t.Fatalf("a full store takes another item: %v", err)
	}
	r.now = 50
	taken := 0
	for i := range n / 2 {
		if r.try(numbered(1_000_000+i, 16), make([]byte, 100)) == nil {
			taken++
		}
	}
	if taken < n/2-1 {
		t.Errorf("%d items had expired, and %d others were taken", n/2, taken)
	}
	for i := range n {
		if r.has(i, 16, 100) == (i%2 == 0) {
			t.Fatalf("item %d exists: %v", i, i%2 == 0)
		}
	}
}

// A store that is full of items that have not expired does not search for expired ones.
func TestRefusesWithoutSearch(t *testing.T) {
	r := newRig(t, keeping)
	for i := 0; ; i++ {
		_, err := r.Put(r.key(numbered(i, 16)), store.Entry{Value: make([]byte, 100), Expires: 1000}, store.Always(), 1)
		if err != nil {
			break
		}
	}
	before := r.swept
	for i := range 1000 {
		_ = r.try(numbered(i, 17), make([]byte, 100))
	}
	if r.stats.Refused != 1001 || r.swept != before {
		t.Errorf("%d Puts were refused, and %d bytes looked at", r.stats.Refused, r.swept-before)
	}
	// The item that would have expired first was deleted: only one search finds nothing.
	r.remove(0, 16)
	r.now = 999
	for i := range 1000 {
		_ = r.try(numbered(i, 18), make([]byte, 100))
	}
	if looked := r.swept - before; looked > uint64(len(r.mem)) {
		t.Errorf("%d bytes were looked at for nothing", looked)
	}
}

// A clock that steps back does not affect which items are kept.
func TestClockStepsBack(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with, memory(store.MinMemory))
		random := seeded(t, 8)
		for i := range 5000 {
			now := random.Int64N(1000)
			e := store.Entry{Value: pattern(uint64(i%300), 40), Expires: now + random.Int64N(1000) - 300}
			_, _ = r.Put(r.key(numbered(i%300, 16)), e, store.Always(), now)
			_ = r.Touch(r.key(numbered(random.IntN(300), 16)), random.Int64N(2000), random.Int64N(1000))
			if item, err := r.Get(r.key(numbered(random.IntN(300), 16)), now); err == nil && item.Expires != 0 && item.Expires <= now {
				t.Fatalf("at %d an item exists that expired at %d", now, item.Expires)
			}
			if i%100 == 0 {
				r.check()
			}
		}
	})
}
