package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

const seed = storetest.Seed

var (
	key       = storetest.Key
	colliding = storetest.Colliding
	value     = storetest.Value
)

// rig is a table of a test.
type rig struct {
	*Table
	storetest.Rig
}

// open makes a table that is checked and closed at the end of the test.
func open(t testing.TB, mode store.Mode, memory int64) *rig {
	t.Helper()
	table, err := New(store.Config{Memory: memory, Mode: mode, Seed: seed, MaxValue: store.MaxValueLimit})
	return &rig{table, storetest.NewRig(t, table, err)}
}
