package mica

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// collide makes all keys have hashes of a kind.
func (r *rig) collide(hash func(i uint64) uint64) {
	plain := r.hash
	r.hash = func(key []byte) uint64 { return hash(plain(key)) }
}

// floods are hashes that collide: all of them, and those of a bucket but not of
// a tag.
var floods = map[string]func(plain uint64) uint64{
	"one-hash":   func(uint64) uint64 { return 0x123456789abcdef },
	"one-bucket": func(plain uint64) uint64 { return plain<<32 | 0xabcdef },
}

// A full bucket still gives right answers (M6, S8).
func TestFloodStaysBounded(t *testing.T) {
	for name, hash := range floods {
		eachMode(t, func(t *testing.T, with func(*store.Config)) {
			t.Run(name, func(t *testing.T) { flood(t, hash, with) })
		})
	}
}

func flood(t *testing.T, hash func(uint64) uint64, with func(*store.Config)) {
	r := newRig(t, with)
	r.collide(hash)
	taken := 0
	for i := range 1000 {
		if r.try(numbered(i, 16), pattern(uint64(i), 50)) == nil {
			taken++
		}
		if c := r.chainOf(r.bucketOf(hash(0)), tagOf(hash(0))); c.lines > maxLines || c.alike > maxAlike {
			t.Fatalf("after %d items the bucket has %d lines, %d entries with the same tag", i+1, c.lines, c.alike)
		}
	}
	found := 0
	for i := range 1000 {
		if r.has(i, 16, 50) {
			found++
		}
	}
	most := maxEntries
	if r.hash(nil) == r.hash([]byte("other")) {
		most = maxAlike
	}
	if found != most || r.stats.Items != int64(most) {
		t.Errorf("%d items are there, %d counted, want %d", found, r.stats.Items, most)
	}
	if r.keeping != (taken == most) || r.keeping != (r.stats.Refused > 0) {
		t.Errorf("%d of 1000 were taken, %d refused", taken, r.stats.Refused)
	}
	if !r.keeping && !r.has(999, 16, 50) {
		t.Error("the last one does not exist")
	}
	r.check()
	for i := range 1000 {
		_ = r.Delete(r.key(numbered(i, 16)), store.Always(), r.now)
	}
	if st := r.Stats(); st.Items != 0 || st.IndexBytes != lineSize {
		t.Errorf("everything was deleted: %+v", st)
	}
}

// An item of the same hash as others cannot take the place of items of other hashes.
func TestFloodLeavesOthersAlone(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with)
		plain := r.hash
		r.hash = func(key []byte) uint64 {
			if len(key) == 16 {
				return 0xabcdef
			}
			return plain(key)
		}
		for i := range 500 {
			for j := range 10 {
				_ = r.try(numbered(10*i+j, 16), nil)
			}
			r.put(numbered(i, 24), pattern(uint64(i), 20))
		}
		for i := range 500 {
			if !r.has(i, 24, 20) {
				t.Errorf("item %d is gone", i)
			}
		}
	})
}

// In a Store, a bucket with its limit takes another item when one has expired.
func TestFloodOfExpired(t *testing.T) {
	for name, hash := range floods {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, keeping)
			r.collide(hash)
			for i := range maxEntries {
				_, _ = r.Put(r.key(numbered(i, 16)), store.Entry{Expires: 10}, store.Always(), 1)
			}
			items := r.stats.Items
			if err := r.try([]byte("one more"), nil); err == nil {
				t.Fatal("the bucket takes more than it may")
			}
			r.now = 10
			for i := range int(items) {
				r.put(numbered(1000+i, 16), nil)
			}
			if r.stats.Expired != uint64(items) || r.stats.Items != items {
				t.Errorf("%d items, %d expired, want %d of both", r.stats.Items, r.stats.Expired, items)
			}
		})
	}
}

// Entries come and go at random in a bucket that overflows; its lines are dense
// at any time (M5).
func TestBucketIsDense(t *testing.T) {
	r := newRig(t, keeping)
	r.collide(func(plain uint64) uint64 { return plain << 40 })
	random := seeded(t, 2)
	there := map[int]bool{}
	for step := range 3000 {
		i := random.IntN(100)
		if there[i] {
			r.remove(i, 16)
			delete(there, i)
		} else if r.try(numbered(i, 16), pattern(uint64(i), 8)) == nil {
			there[i] = true
		}
		if step%10 == 0 {
			r.check()
		}
		c := r.chainOf(0, 0)
		if c.entries() != len(there) {
			t.Fatalf("step %d: %d entries of %d items", step, c.entries(), len(there))
		}
		want := 1
		if n := len(there); n > lineSlots {
			want = 1 + (n-lineSlots+spillSlots-1)/spillSlots
		}
		if c.lines != want {
			t.Fatalf("step %d: %d lines for %d entries, want %d", step, c.lines, len(there), want)
		}
	}
}

// Put does not trust hashes: an entry that cannot be found when its item is
// evicted would be read forever (M2).
func TestWrongHash(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with, memory(store.MinMemory))
		for i := range 5000 {
			k := store.Key{Hash: uint64(i), Bytes: numbered(i, 16)}
			_, _ = r.Put(k, store.Entry{Value: pattern(uint64(i), 50)}, store.Always(), 1)
			_, _ = r.Get(k, 1)
			_ = r.Touch(k, 2, 1)
			if i%3 == 0 {
				_ = r.Delete(k, store.Always(), 1)
			}
		}
		r.check()
	})
}
