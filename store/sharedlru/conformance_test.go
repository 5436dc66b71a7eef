package sharedlru

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

var engine = storetest.Engine{
	Name: "shared-lru",
	New: func(cfg store.Config) (store.Partition, error) {
		t, err := New(cfg, 1)
		if err != nil {
			return nil, err
		}
		return t.Handle(0), nil
	},
	Memory:     memoryOf,
	KeepsUsed:  true,
	ShortViews: true,
	OnePiece:   headRoom,
	Fill:       0.6,
	Refill:     0.7,
}

// memoryOf returns all that Check reads.
func memoryOf(p store.Partition) [][]byte {
	h, ok := p.(*Handle)
	if !ok {
		return nil
	}
	return [][]byte{h.table.index, h.table.chunks.mem}
}

func TestConformance(t *testing.T) { storetest.Run(t, engine) }

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }

func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }
