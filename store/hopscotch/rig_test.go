package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

const seed = storetest.Seed

var (
	key   = storetest.Key
	value = storetest.Value
)

// shape is a constructor: New or NewVar.
type shape func(cfg store.Config) (*Table, error)

// shapes are both constructors, by name.
var shapes = map[string]shape{"inline": New, "var": NewVar}

// rig is a table of a test, and a Finder that reads it.
type rig struct {
	*Table
	storetest.Rig
	*storetest.Reader
	finder *Finder
}

// openRig makes a table that is checked and closed at the end of the test.
func openRig(t testing.TB, open shape, mode store.Mode, memory int64) *rig {
	t.Helper()
	table, err := open(store.Config{Memory: memory, Mode: mode, Seed: seed})
	r := &rig{Table: table, Rig: storetest.NewRig(t, table, err)}
	export := table.Export()
	if r.finder, err = NewFinder(export.Layout); err != nil {
		t.Fatal(err)
	}
	r.Reader = storetest.NewReader(t, r.finder, export)
	return r
}

// homed returns key number i, with a hash that makes h its home.
func (r *rig) homed(i int, h uint64) store.Key {
	k := key(i)
	k.Hash = k.Hash&^(1<<32-1) | ((h<<32)/r.homes + 1)
	if r.homeOf(k.Hash) != h {
		r.Fatalf("the home of %#x is %d, want %d", k.Hash, r.homeOf(k.Hash), h)
	}
	return k
}

// search looks for a key by reading, and returns the number of spans.
func (r *rig) search(k store.Key) (store.Outcome, int) {
	r.Helper()
	outcome := r.Search(k, nil)
	return outcome, r.Spans
}
