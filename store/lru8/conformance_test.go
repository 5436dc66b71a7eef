package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

var engine = storetest.Engine{
	Name:      "lru8",
	New:       func(cfg store.Config) (store.Partition, error) { return New(cfg) },
	Memory:    memoryOf,
	KeepsUsed: true,
	Fill:      0.8,
	Refill:    0.7,
}

// memoryOf returns all that Check reads.
func memoryOf(p store.Partition) [][]byte {
	t, ok := p.(*Table)
	if !ok {
		return nil
	}
	return [][]byte{t.index, t.heap.Mem()}
}

func TestConformance(t *testing.T) { storetest.Run(t, engine) }

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }

func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }
