package slots

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// seed keys the hashes of tests.
const seed store.Seed = 7

// rig is a table with short ways to say things.
type rig struct {
	*Table
	t testing.TB
	f *Finder
}

// open makes a table of n slots that is checked and closed at the end of the test.
func open(t testing.TB, mode store.Mode, n int) *rig {
	t.Helper()
	table, err := New(store.Config{Arena: store.NewArena(nil), Memory: int64(n*cell + overhead), Mode: mode, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	if table.n != uint64(n) {
		t.Fatalf("%d slots, want %d", table.n, n)
	}
	f, err := NewFinder(table.Export().Layout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return &rig{table, t, f}
}

func (r *rig) check() {
	r.t.Helper()
	if err := r.Check(); err != nil {
		r.t.Fatal(err)
	}
}

// key is key number i.
func key(i int) store.Key {
	return seed.Key(binary.BigEndian.AppendUint64(nil, uint64(i)))
}

// colliding returns n keys with the same home.
func (r *rig) colliding(home uint64, n int) (all []store.Key) {
	for i := 0; len(all) < n; i++ {
		if k := key(i); r.home(k.Bytes) == home {
			all = append(all, k)
		}
	}
	return all
}

func (r *rig) put(k store.Key) {
	r.t.Helper()
	if _, err := r.Put(k, store.Entry{Value: k.Bytes}, store.Always(), 0); err != nil {
		r.t.Fatalf("Put: %v", err)
	}
}

// search looks for a key as a client does, and counts the slots that it reads.
func (r *rig) search(k store.Key) (outcome store.Outcome, spans int) {
	r.t.Helper()
	span := r.f.Start(k)
	b := make([]byte, slotSize)
	for outcome == store.More {
		fence.CopyIn(b, r.areas[span.Area].Bytes()[span.Off:][:span.Len])
		span, outcome = r.f.Look(b)
		spans++
	}
	if outcome == store.Found && string(r.f.Item().Value) != string(k.Bytes) {
		r.t.Fatalf("key %x: Found %x", k.Bytes, r.f.Item().Value)
	}
	return outcome, spans
}

func (r *rig) want(k store.Key, want store.Outcome, spans int) {
	r.t.Helper()
	if got, n := r.search(k); got != want || n != spans {
		r.t.Fatalf("key %x: outcome %d after %d slots, want %d after %d", k.Bytes, got, n, want, spans)
	}
}
