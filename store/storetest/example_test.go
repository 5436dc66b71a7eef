package storetest_test

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/lru8"
	"github.com/remora-kv/remora/store/storetest"
)

// An engine's own test says how to make a partition, and what it promises beyond
// the contract.
func Example() {
	engine := storetest.Engine{
		Name:      "lru8",
		New:       func(cfg store.Config) (store.Partition, error) { return lru8.New(cfg) },
		KeepsUsed: true,
		Fill:      0.8,
	}
	_ = func(t *testing.T) { storetest.Run(t, engine) }   // TestConformance
	_ = func(f *testing.F) { storetest.Fuzz(f, engine) }  // FuzzModel
	_ = func(b *testing.B) { storetest.Bench(b, engine) } // BenchmarkEngine
	_ = func(t *testing.T) {                              // a long run at night
		storetest.RunWith(t, engine, storetest.Options{Iterations: 50, Seed: 1})
	}
}
