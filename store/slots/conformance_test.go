package slots_test

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/slots"
	"github.com/remora-kv/remora/store/storetest"
)

var engine = storetest.Engine{
	Name:        "slots",
	New:         func(cfg store.Config) (store.Partition, error) { return slots.New(cfg) },
	KeepsUsed:   true,
	TakesOldest: true,
	Memory:      slots.Memory,
	MaxKey:      slots.MaxKey,
	MaxValue:    slots.MaxValue,
	Cell:        1080,
	NewFinder: func(layout []byte) (store.Finder, error) {
		f, err := slots.NewFinder(layout)
		if err != nil {
			return nil, err
		}
		return f, nil
	},
	Spans: 64 + 8,
}

func TestConformance(t *testing.T) { storetest.Run(t, engine) }

func TestExport(t *testing.T) { storetest.RunExport(t, engine) }

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }

func FuzzFinder(f *testing.F) { storetest.FuzzFinder(f, engine) }

func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }
