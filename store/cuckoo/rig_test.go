package cuckoo

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/store"
)

// seed keys the hashes of tests.
const seed store.Seed = 7

// rig is a table with short ways to say things.
type rig struct {
	*Table
	t testing.TB
}

// open makes a table that is checked and closed at the end of the test.
func open(t testing.TB, mode store.Mode, memory int64) *rig {
	t.Helper()
	table, err := New(store.Config{Arena: store.NewArena(nil), Memory: memory, Mode: mode, Seed: seed, MaxValue: store.MaxValueLimit})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{table, t}
	t.Cleanup(func() {
		r.check()
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) check() {
	r.t.Helper()
	if err := r.Check(); err != nil {
		r.t.Fatal(err)
	}
}

// key is key number i.
func key(i int) store.Key {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(i))
	return seed.Key(append(b, "12345678"...))
}

// colliding is key number i of one hash.
func colliding(i int) store.Key {
	k := key(i)
	k.Hash = 0x1234567800000000
	return k
}

// value is a value that is known by its key.
func value(k store.Key, n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = k.Bytes[7] + byte(i)
	}
	return v
}

// put must succeed.
func (r *rig) put(k store.Key, n int) uint64 {
	r.t.Helper()
	version, err := r.Put(k, store.Entry{Value: value(k, n)}, store.Always(), 0)
	if err != nil {
		r.t.Fatalf("Put of %d bytes: %v", n, err)
	}
	return version
}

// has says whether a key is there; if so, its value must be right.
func (r *rig) has(k store.Key) bool {
	r.t.Helper()
	item, err := r.Get(k, 0)
	if err != nil {
		return false
	}
	if string(item.Value) != string(value(k, len(item.Value))) {
		r.t.Fatalf("key %x: wrong value", k.Bytes)
	}
	return true
}

// fillUp puts items from number first on until one is refused, and returns how
// many were taken.
func (r *rig) fillUp(first, size int) int {
	r.t.Helper()
	for n := 0; ; n++ {
		k := key(first + n)
		if _, err := r.Put(k, store.Entry{Value: value(k, size)}, store.Always(), 0); err != nil {
			return n
		}
	}
}
