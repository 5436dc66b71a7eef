package mica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// With SecondChance an item that fits the place of the old one takes it, and in Store mode one of the same
// size; with FIFO none does.
func TestOverwritesInPlace(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		key := []byte("key")
		const never, always, moves = 0, 1, 2 // in place: where items are not appended, or may not take other room
		for _, c := range []struct {
			before, after store.Entry
			same          int
		}{
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 20)}, always},
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 21)}, always}, // padding
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 13)}, moves},  // a granule less
			{store.Entry{Value: pattern(1, 50)}, store.Entry{Value: pattern(2, 41)}, moves},
			{store.Entry{Value: pattern(1, 50)}, store.Entry{Value: pattern(2, 1)}, moves},
			{store.Entry{Value: pattern(1, 5000)}, store.Entry{Value: pattern(2, 1)}, moves}, // of another shape
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 28)}, never},
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 20), Flags: 1}, never},
			{store.Entry{Value: pattern(1, 20), Flags: 2}, store.Entry{Value: pattern(2, 20), Flags: 1}, always},
			{store.Entry{Value: pattern(1, 20), Expires: 2}, store.Entry{Value: pattern(2, 20), Expires: 3}, always},
			{store.Entry{Value: pattern(1, 20), Expires: 2}, store.Entry{Value: pattern(2, 20)}, moves},
			{store.Entry{Value: pattern(1, 5000), Expires: 2}, store.Entry{Value: pattern(2, 5000)}, always},
			{store.Entry{}, store.Entry{}, always},
		} {
			r := newRig(t, with)
			at, version := 0, uint64(0)
			for _, e := range []store.Entry{c.before, c.after} {
				before := at
				v, err := r.Put(r.key(key), e, store.Always(), 1)
				if err != nil || v != version+1 && version != 0 {
					t.Fatalf("version %d after %d: %v", v, version, err)
				}
				version = v
				at = r.find(r.hash(key), key).at
				if want := r.spares && c.same != never || r.keeping && c.same == always; before != 0 && want != (at == before) {
					t.Errorf("%d bytes, flags %d, expiry %d: in place %v, want %v", len(e.Value), e.Flags, e.Expires, at == before, want)
				}
				item, err := r.Get(r.key(key), 1)
				if err != nil || !bytes.Equal(item.Value, e.Value) || item.Flags != e.Flags || item.Expires != e.Expires || item.Version != v {
					t.Fatalf("put %+v, got %+v: %v", e, item, err)
				}
			}
			r.check()
		}
	})
}

// An item whose size varies takes room of the log only when it is longer than ever since it was moved:
// when it is shorter the rest of its place is dead, and it grows back into that.
func TestHotItemStaysWhereItIs(t *testing.T) {
	r := newRig(t)
	random := seeded(t, 1)
	r.put(numbered(0, 16), pattern(0, 3000))
	r.put(numbered(1, 16), nil) // behind it
	at, head := r.find(r.hash(numbered(0, 16)), numbered(0, 16)).at, r.head
	for i := range 3000 {
		value := pattern(uint64(i), random.IntN(3001))
		r.put(numbered(0, 16), value)
		item, err := r.Get(r.key(numbered(0, 16)), r.now)
		if err != nil || !bytes.Equal(item.Value, value) || r.got != at || r.head != head {
			t.Fatalf("after %d puts it is at %d and the log ends at %d; they were %d and %d", i+1, r.got, r.head, at, head)
		}
		if i%100 == 0 {
			r.check()
		}
	}
	r.put(numbered(0, 16), pattern(0, 3200))
	if r.got == at || r.head == head {
		t.Error("a longer item is at the old place")
	}
	r.check()
	// The room of a dead neighbour serves as well, but not that of a live one.
	_ = r.Delete(r.key(numbered(1, 16)), store.Always(), r.now)
	for _, i := range []int{2, 3, 4} {
		r.put(numbered(i, 16), pattern(uint64(i), 100))
	}
	at = r.find(r.hash(numbered(2, 16)), numbered(2, 16)).at
	_ = r.Delete(r.key(numbered(3, 16)), store.Always(), r.now)
	r.put(numbered(2, 16), pattern(2, 200))
	if r.got != at {
		t.Error("an item does not grow into the room of a dead one")
	}
	r.put(numbered(2, 16), pattern(2, 300))
	if r.got == at || !r.has(4, 16, 100) {
		t.Error("an item grew into the room of a live one")
	}
}

// A key or a value that is a view is stored as it was when the call
// began, even if its own item has to make room for it.
func TestInputsInTheLog(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		for _, share := range []int{2, 3, 5, 20, 200} {
			r := newRig(t, with, memory(store.MinMemory), largest(store.MinMemory))
			random := seeded(t, 9)
			most := len(r.mem) / share
			for i := range 300 {
				_ = r.try(numbered(i%5, 16), pattern(uint64(i), random.IntN(most)))
				var key, value []byte
				r.Each(1, func(k store.Key, item store.Item) bool {
					key, value = k.Bytes, item.Value
					return random.IntN(4) > 0
				})
				if random.IntN(3) == 0 {
					from := random.IntN(len(value) + 1)
					value = value[from : from+random.IntN(len(value)-from+1)]
				}
				switch random.IntN(4) {
				case 0:
					key = numbered(1000+i, 16)
				case 1:
					key = value[:min(len(value), store.MaxKey)]
				case 2:
					value = key
				}
				putAlias(r, key, value)
				if i%10 == 0 {
					r.check()
				}
			}
		}
	})
}

func putAlias(r *rig, key, value []byte) {
	r.Helper()
	k, v := bytes.Clone(key), bytes.Clone(value)
	_, err := r.Put(r.key(key), store.Entry{Value: value}, store.Always(), 1)
	if err != nil && !errors.Is(err, store.ErrFull) {
		r.Fatal(err)
	}
	if errors.Is(err, store.ErrFull) {
		if !r.keeping && len(k)+len(v) < len(r.mem)*9/10 {
			r.Fatalf("a cache refuses %d bytes", len(k)+len(v))
		}
		_ = r.Delete(r.key(k), store.Always(), 1)
		return
	}
	if item, err := r.Get(r.key(k), 1); err != nil || !bytes.Equal(item.Value, v) {
		r.Fatalf("%d bytes under a key of %d, put from the log: %v", len(v), len(k), err)
	}
}

// When no versions are left, Put fails; versions do not wrap around.
func TestLastVersion(t *testing.T) {
	r := newRig(t)
	r.version = store.MaxVersion - 1
	r.put([]byte("a"), nil)
	if item, err := r.Get(r.key([]byte("a")), 1); err != nil || item.Version != store.MaxVersion {
		t.Fatalf("version %d: %v", item.Version, err)
	}
	if err := r.try([]byte("b"), nil); !errors.Is(err, store.ErrFull) {
		t.Fatalf("a Put without a version: %v", err)
	}
}

func TestNewRefusesTooMuch(t *testing.T) {
	if _, err := New(store.Config{Memory: MaxMemory + 1}); err == nil {
		t.Error("New accepts more than MaxMemory")
	}
}
