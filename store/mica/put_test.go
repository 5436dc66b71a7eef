package mica

import (
	"bytes"
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// In Store mode and with SecondChance, an item of the same size overwrites the old one in
// place; with FIFO it must not.
func TestOverwritesInPlace(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with)
		key := []byte("key")
		for _, c := range []struct {
			before, after store.Entry
			same          bool
		}{
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 20)}, true},
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 21)}, true}, // padding
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 28)}, false},
			{store.Entry{Value: pattern(1, 20)}, store.Entry{Value: pattern(2, 20), Flags: 1}, false},
			{store.Entry{Value: pattern(1, 20), Flags: 2}, store.Entry{Value: pattern(2, 20), Flags: 1}, true},
			{store.Entry{Value: pattern(1, 20), Expires: 2}, store.Entry{Value: pattern(2, 20), Expires: 3}, true},
			{store.Entry{Value: pattern(1, 20), Expires: 2}, store.Entry{Value: pattern(2, 20)}, false},
			{store.Entry{Value: pattern(1, 5000), Expires: 2}, store.Entry{Value: pattern(2, 5000)}, true},
			{store.Entry{}, store.Entry{}, true},
		} {
			at, version := 0, uint64(0)
			for _, e := range []store.Entry{c.before, c.after} {
				before := at
				v, err := r.Put(r.key(key), e, store.Always(), 1)
				if err != nil || v != version+1 && version != 0 {
					t.Fatalf("version %d after %d: %v", v, version, err)
				}
				version = v
				at = r.find(r.hash(key), key).at
				if want := c.same && (r.keeping || r.spares); before != 0 && want != (at == before) {
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
