package server_test

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// hints counts what the engine "counts hints" was told.
var hints struct{ index, items atomic.Uint64 }

func countHints(_ store.Config, part store.Partition) (store.Partition, error) {
	return hinted{part}, nil
}

// hinted is a partition that counts hints.
type hinted struct{ store.Partition }

// PrefetchIndex implements store.Prefetcher.
func (hinted) PrefetchIndex(uint64) { hints.index.Add(1) }

// PrefetchItems implements store.Prefetcher.
func (hinted) PrefetchItems(hashes []uint64) { hints.items.Add(uint64(len(hashes))) }

// The engine is told ahead of what both paths will need, unless that is switched off:
// then of nothing, no request waits in a pipeline, and statistics say so.
func TestPrefetchCanBeSwitchedOff(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprint("off=", off), func(t *testing.T) {
			r := newRig(t, provider.Loop)
			cfg := r.config()
			cfg.Engine, cfg.Cores, cfg.NoPrefetch = "counts hints", 1, off
			r.start(cfg)
			for path, opts := range map[string][]remora.Option{
				"rfp":  {remora.WithBatch(8)},
				"herd": {remora.WithPath(remora.PathHerd), remora.WithWindow(8)},
			} {
				s := session(t, r.dial(), opts...)
				index, items := hints.index.Load(), hints.items.Load()
				b := &batch{t: t, s: s}
				for i := range 64 {
					key := fmt.Sprint(path, i%9)
					b.put(key, []byte(key))
					b.get(key)
				}
				b.finish()
				index, items = hints.index.Load()-index, hints.items.Load()-items
				if (index == 0) != off || (items == 0) != off {
					t.Errorf("%s: %d hints of entries, %d of items", path, index, items)
				}
			}
			cores, err := r.dial().Stats(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			var st server.Stats
			if err := json.Unmarshal(cores[0], &st); err != nil {
				t.Fatal(err)
			}
			if st.Prefetch == off || st.Herd == nil || st.Herd.Calls == 0 || off && st.Herd.Noops != 0 {
				t.Errorf("%+v, %+v", st, st.Herd)
			}
		})
	}
}
