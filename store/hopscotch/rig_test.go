package hopscotch

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// seed keys the hashes of tests.
const seed store.Seed = 7

// shape makes a table: New or NewVar.
type shape func(cfg store.Config) (*Table, error)

// shapes are both, by name.
var shapes = map[string]shape{"inline": New, "var": NewVar}

// rig is a table with short ways to say things, and a Finder that reads it.
type rig struct {
	*Table
	t      testing.TB
	finder *Finder
	ex     store.Export
	buf    []byte
}

// openRig makes a table that is checked and closed at the end of the test.
func openRig(t testing.TB, open shape, mode store.Mode, memory int64) *rig {
	t.Helper()
	table, err := open(store.Config{Arena: store.NewArena(nil), Memory: memory, Mode: mode, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Table: table, t: t, ex: table.Export()}
	if r.finder, err = NewFinder(r.ex.Layout); err != nil {
		t.Fatal(err)
	}
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

// key is key number i, of 16 bytes.
func key(i int) store.Key {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(i))
	return seed.Key(append(b, "12345678"...))
}

// homed is key number i, with a hash that makes h its home.
func (r *rig) homed(i int, h uint64) store.Key {
	k := key(i)
	k.Hash = k.Hash&^(1<<32-1) | ((h<<32)/r.homes + 1)
	if r.homeOf(k.Hash) != h {
		r.t.Fatalf("the home of %#x is %d, want %d", k.Hash, r.homeOf(k.Hash), h)
	}
	return k
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

// value is a value that is known by its key.
func value(k store.Key, n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = k.Bytes[7] + byte(i)
	}
	return v
}

// read copies a span out of the exported memory.
func (r *rig) read(s store.Span) []byte {
	r.t.Helper()
	from := r.ex.Areas[s.Area].Bytes()[s.Off:][:s.Len]
	if len(r.buf) < len(from) {
		r.buf = make([]byte, len(from))
	}
	fence.CopyIn(r.buf, from)
	return r.buf[:len(from)]
}

// search looks for a key by reading, and returns how many spans that took.
func (r *rig) search(k store.Key) (store.Outcome, int) {
	r.t.Helper()
	span := r.finder.Start(k)
	for n := 1; ; n++ {
		next, outcome := r.finder.Look(r.read(span))
		if outcome != store.More {
			return outcome, n
		}
		span = next
	}
}
