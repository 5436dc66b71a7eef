package storetest

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// toyEngine is the toy with a flaw.
func toyEngine(flaw toyFlaw) Engine {
	return Engine{
		Name: "toy",
		New:  func(cfg store.Config) (store.Partition, error) { return newToy(cfg, flaw) },
		NewFinder: func(layout []byte) (store.Finder, error) {
			f, err := newToyFinder(layout, flaw)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		MaxValue: 1000,
	}
}

// TestToy runs the suite on toys without a flaw.
func TestToy(t *testing.T) {
	t.Run("stays", func(t *testing.T) { RunExport(t, toyEngine(toyFlaw{})) })
	t.Run("moves", func(t *testing.T) { RunExport(t, toyEngine(toyFlaw{moves: true})) })
}

func FuzzToyFinder(f *testing.F) { FuzzFinder(f, toyEngine(toyFlaw{})) }
