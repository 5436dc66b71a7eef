package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

// engines are the two shapes of the table.
var engines = []storetest.Engine{
	{
		Name:      "hopscotch",
		New:       func(cfg store.Config) (store.Partition, error) { return New(cfg) },
		Memory:    memoryOf,
		NewFinder: newFinder,
		KeepsUsed: true,
	},
	{
		Name:      "hopscotch-var",
		New:       func(cfg store.Config) (store.Partition, error) { return NewVar(cfg) },
		Memory:    memoryOf,
		KeepsUsed: true,
		NewFinder: newFinder,
		Fill:      0.6,
		Refill:    0.7,
	},
}

func newFinder(layout []byte) (store.Finder, error) { return NewFinder(layout) }

// memoryOf returns all that Check reads.
func memoryOf(p store.Partition) [][]byte {
	t, ok := p.(*Table)
	if !ok {
		return nil
	}
	return [][]byte{t.slots, t.heap.Mem()}
}

func TestConformance(t *testing.T) {
	for _, e := range engines {
		t.Run(e.Name, func(t *testing.T) { storetest.Run(t, e) })
	}
}

func TestExport(t *testing.T) {
	for _, e := range engines {
		t.Run(e.Name, func(t *testing.T) { storetest.RunExport(t, e) })
	}
}

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engines[0]) }

func FuzzModelVar(f *testing.F) { storetest.Fuzz(f, engines[1]) }

func BenchmarkEngine(b *testing.B) {
	for _, e := range engines {
		b.Run(e.Name, func(b *testing.B) { storetest.Bench(b, e) })
	}
}
