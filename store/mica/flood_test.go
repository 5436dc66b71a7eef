package mica

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// Hashes of the keys of a flood, by their numbers: all are of one bucket.
const (
	flooding  = 0x7000005           // keys below 1000
	sameTag   = flooding | 1<<50    // keys below 2000: another hash
	otherTags = flooding | 0x80<<40 // all others, about
)

// newFlooded makes a table whose keys are hashed like this.
func newFlooded(t *testing.T, with ...func(*store.Config)) *rig {
	r := newRig(t, with...)
	r.hash = func(key []byte) uint64 {
		switch n := binary.BigEndian.Uint64(key); {
		case n < 1000:
			return flooding
		case n < 2000:
			return sameTag
		default:
			return otherTags | n%3<<41 // none of them a flood
		}
	}
	if tagOf(flooding) != tagOf(sameTag) || tagOf(flooding) == tagOf(otherTags) {
		t.Fatal("the tags are not what the test needs")
	}
	return r
}

func (r *rig) putUntil(i int, expires int64) error {
	_, err := r.Put(r.key(numbered(i, 16)), store.Entry{Expires: expires}, store.Always(), r.now)
	return err
}

// A flood reuses the places of its own expired items, and not those of other items in its
// bucket: otherwise it would have more than it may (M6).
func TestFloodReclaimsItsOwn(t *testing.T) {
	for _, c := range []struct {
		name   string
		before int // entries of another tag
		other  int // the item that expires beside the flood
	}{
		{"alone", 0, 5000},
		{"in a crowded bucket", maxEntries - maxAlike - 1, 5000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newFlooded(t, keeping)
			for i := range maxAlike {
				r.put(numbered(i, 16), nil)
			}
			for i := range c.before {
				r.put(numbered(2000+i, 16), nil)
			}
			if err := r.putUntil(c.other, 10); err != nil {
				t.Fatal(err)
			}
			r.now = 10
			if err := r.putUntil(100, 0); !errors.Is(err, store.ErrFull) {
				t.Fatalf("item %d of a flood: %v", maxAlike+1, err)
			}
			r.check()
			if err := r.Touch(r.key(numbered(3, 16)), 20, r.now); err != nil {
				t.Fatal(err)
			}
			r.now = 20
			if err := r.putUntil(100, 0); err != nil {
				t.Fatalf("an item of the flood has expired, but Put fails: %v", err)
			}
		})
	}
}

// In a Cache a flood displaces its own items only, those of its tag.
func TestFloodDisplacesItsOwn(t *testing.T) {
	r := newFlooded(t)
	const others = 10
	for i := range others {
		r.put(numbered(2000+i, 16), nil)
	}
	for i := range 500 {
		r.put(numbered(i+1000*(i%2), 16), nil) // of two hashes
		same := 0
		r.Each(r.now, func(k store.Key, _ store.Item) bool {
			if tagOf(k.Hash) == tagOf(flooding) {
				same++
			}
			return true
		})
		if same > maxAlike {
			t.Fatalf("%d items of one tag", same)
		}
	}
	for i := range others {
		if _, err := r.Get(r.key(numbered(2000+i, 16)), r.now); err != nil {
			t.Errorf("item %d of another tag: %v", i, err)
		}
	}
	r.check()
}

// A Put looks at no key of a flood: it hashes its own once, and no other.
func TestFloodIsNotHashed(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newFlooded(t, with)
		for i := range maxAlike {
			r.put(numbered(i, 16), nil)
		}
		r.put(numbered(2000, 16), nil) // so that the oldest item is none that is displaced
		hashed, hash := 0, r.hash
		r.hash = func(key []byte) uint64 { hashed++; return hash(key) }
		k := store.Key{Hash: flooding, Bytes: numbered(500, 16)}
		if _, err := r.Put(k, store.Entry{}, store.Always(), r.now); (err != nil) != r.keeping {
			t.Errorf("Put: %v", err)
		}
		r.hash = hash
		if hashed != 1 {
			t.Errorf("a Put beside a flood hashes %d keys", hashed)
		}
	})
}
