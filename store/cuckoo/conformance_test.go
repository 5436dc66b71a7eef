package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

var engine = storetest.Engine{
	Name:        "cuckoo",
	New:         func(cfg store.Config) (store.Partition, error) { return New(cfg) },
	Memory:      memoryOf,
	KeepsUsed:   true,
	TakesOldest: true,
	Fill:        0.6,
	Refill:      0.7,
	NewFinder:   func(layout []byte) (store.Finder, error) { return NewFinder(layout) },
	Spans:       maxSpans,
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

func TestExportConformance(t *testing.T) { storetest.RunExport(t, engine) }

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }

func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }
