package slots

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestScribble lets a client write into every byte of a slot: the item is right or lost, a
// Put restores it, and other items do not change.
func TestScribble(t *testing.T) {
	r := open(t, store.Store, 100)
	const n = 20
	for i := range n {
		r.put(key(i))
	}
	k := key(7)
	for at := range slotSize {
		slot := r.slot(r.find(k))
		slot[at] ^= 0x55
		before := r.Check()
		if before != nil && !errors.Is(before, store.ErrCorrupt) {
			t.Fatal(before)
		}
		item, err := r.Get(k, 0)
		if err == nil && string(item.Value) != string(k.Bytes) {
			t.Fatalf("byte %d: wrong value %x", at, item.Value)
		}
		covered := at >= atKey && at <= atValue+len(k.Bytes) || at >= atTrailer && at < atSum
		if covered != (err != nil) {
			t.Fatalf("byte %d: Get: %v", at, err)
		}
		if covered && before == nil {
			t.Fatalf("byte %d: Check notices nothing", at)
		}
		r.put(k)
		if got, _ := r.search(k); got != store.Found {
			t.Fatalf("byte %d: after a Put outcome %d", at, got)
		}
		r.MustCheck()
		for i := range n {
			if _, err := r.Get(key(i), 0); err != nil {
				t.Fatalf("byte %d: key %d is gone", at, i)
			}
		}
		if st := r.Stats(); st.Items != n {
			t.Fatalf("byte %d: %d items", at, st.Items)
		}
	}
}

// TestScribbledKey writes another key's bytes into a slot: neither key is found there, and both
// can be put.
func TestScribbledKey(t *testing.T) {
	r := open(t, store.Store, 100)
	keys := r.colliding(5, 2)
	r.put(keys[0])
	copy(r.slot(r.find(keys[0]))[atKey:], keys[1].Bytes)
	for _, k := range keys {
		if _, err := r.Get(k, 0); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("Get: %v", err)
		}
	}
	for _, k := range keys {
		r.put(k)
	}
	r.MustCheck()
	if st := r.Stats(); st.Items != 2 {
		t.Errorf("%d items", st.Items)
	}
}

// TestTouchOfDamage checks that Touch does not seal with a checksum what a client wrote.
func TestTouchOfDamage(t *testing.T) {
	r := open(t, store.Store, 100)
	k := key(1)
	r.put(k)
	r.slot(r.find(k))[atValue] ^= 1
	if err := r.Touch(k, 0, 0); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("Touch: %v", err)
	}
	if got, _ := r.search(k); got != store.Missing {
		t.Errorf("outcome %d", got)
	}
}
