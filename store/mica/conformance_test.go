package mica

import (
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/storetest"
)

var engine = storetest.Engine{
	Name:        "mica",
	New:         newForged,
	KeepsUsed:   true,
	TakesOldest: true,
	Memory:      func(p store.Partition) [][]byte { return [][]byte{p.(*forged).mem} }, //lint:ignore errcheck it made p
	Fill:        0.85,
	Refill:      0.8,
}

func TestConformance(t *testing.T) { storetest.Run(t, engine) }

func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }

func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }

// forged is a table that trusts the hashes that come with keys. The suite needs colliding
// hashes, for which no keys are known, while a Table hashes keys
// again.
type forged struct {
	*Table
	seed   store.Seed
	hashes map[string]uint64
}

func newForged(cfg store.Config) (store.Partition, error) {
	t, err := New(cfg)
	if err != nil {
		return nil, err
	}
	f := &forged{t, cfg.Seed, map[string]uint64{}}
	t.hash = func(key []byte) uint64 {
		if hash, ok := f.hashes[string(key)]; ok {
			return hash
		}
		return f.seed.Hash(key)
	}
	return f, nil
}

func (f *forged) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if f.Table.hash(k.Bytes) != k.Hash {
		f.hashes[string(k.Bytes)] = k.Hash
	}
	return f.Table.Put(k, e, c, now)
}
