package slots

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

// seed keys the hashes of tests.
const seed = storetest.Seed

// rig is a table of a test, and a Finder that reads it.
type rig struct {
	*Table
	storetest.Rig
	*storetest.Reader
	f *Finder
}

// open makes a table of n slots that is closed at the end of the test.
func open(t testing.TB, mode store.Mode, n int) *rig {
	t.Helper()
	table, err := New(store.Config{Memory: int64(n*cell + overhead), Mode: mode, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Table: table, Rig: storetest.Rig{TB: t, Partition: table}}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	if table.n != uint64(n) {
		t.Fatalf("%d slots, want %d", table.n, n)
	}
	export := table.Export()
	if r.f, err = NewFinder(export.Layout); err != nil {
		t.Fatal(err)
	}
	r.Reader = storetest.NewReader(t, r.f, export)
	return r
}

// key returns key number i.
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
	r.Helper()
	if _, err := r.Put(k, store.Entry{Value: k.Bytes}, store.Always(), 0); err != nil {
		r.Fatalf("Put: %v", err)
	}
}

// search looks for a key as a client does, and counts the slots that it reads.
func (r *rig) search(k store.Key) (outcome store.Outcome, n int) {
	r.Helper()
	outcome = r.Search(k, nil)
	if outcome == store.Found && string(r.f.Item().Value) != string(k.Bytes) {
		r.Fatalf("key %x: Found %x", k.Bytes, r.f.Item().Value)
	}
	return outcome, r.Spans
}

func (r *rig) want(k store.Key, want store.Outcome, spans int) {
	r.Helper()
	if got, n := r.search(k); got != want || n != spans {
		r.Fatalf("key %x: outcome %d after %d slots, want %d after %d", k.Bytes, got, n, want, spans)
	}
}
