package hopscotch

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/store"
)

// Table is a partition.
type Table struct {
	cfg      store.Config
	slotArea store.Block
	itemArea store.Block
	slots    []byte
	items    []byte
	slotSize uint64
	homes    uint64 // slots but the last, which are no home
	seed     uint64 // of checksums
	space    extent.Space
	last     uint64 // the last version that was given
	turn     uint64 // the slot that gave up its item last
	stride   uint64 // from there to the next
	inlines  int64  // items in line
	mortal   int64  // items that will expire
	stats    store.Stats
}

var (
	_ store.Exporter   = (*Table)(nil)
	_ store.Reader     = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table whose slots have room for Inline bytes of key and value.
func New(cfg store.Config) (*Table, error) { return open(cfg, inlineSlot) }

// NewVar makes an empty table whose slots lead to items that are elsewhere, all of them.
func NewVar(cfg store.Config) (*Table, error) { return open(cfg, slotHead) }

func open(cfg store.Config, slotSize uint64) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if cfg.Memory > maxMemory {
		return nil, fmt.Errorf("hopscotch: a memory of %d bytes: at most %d", cfg.Memory, int64(maxMemory))
	}
	slots, itemMemory := split(cfg, slotSize)
	t := &Table{cfg: cfg, slotSize: slotSize, homes: slots - (reach - 1), seed: uint64(cfg.Seed), last: cfg.FirstVersion}
	t.stride = strideFor(slots)
	if t.slotArea, err = cfg.Arena.Export("hopscotch slots", int(slots*slotSize), false); err != nil {
		return nil, err
	}
	if t.itemArea, err = cfg.Arena.Export("hopscotch items", int(itemMemory), false); err != nil {
		return nil, errors.Join(err, t.slotArea.Free())
	}
	t.slots, t.items = t.slotArea.Bytes(), t.itemArea.Bytes()
	t.space.Init(t.items, t.owner())
	return t, nil
}

// caches says whether the table may evict.
func (t *Table) caches() bool { return t.cfg.Mode == store.Cache }

// Stats returns what the table holds and did. The part of a slot that an item in line
// takes counts as the item's.
func (t *Table) Stats() store.Stats {
	st := t.stats
	inline := t.inlines * (inlineSlot - slotHead)
	st.Memory = t.cfg.Memory
	st.IndexBytes = int64(len(t.slots)) - inline
	st.ItemBytes = int64(t.space.Used()) + inline
	return st
}

// Close frees the memory.
func (t *Table) Close() error {
	t.slots, t.items = nil, nil
	return errors.Join(t.slotArea.Free(), t.itemArea.Free())
}

// added counts the item at a place.
func (t *Table) added(p place) { t.count(p, 1) }

// removed takes the item at a place out of the count.
func (t *Table) removed(p place) { t.count(p, -1) }

func (t *Table) count(p place, n int64) {
	r := t.record(p)
	t.stats.Items += n
	t.stats.KeyBytes += n * int64(r.keySize())
	t.stats.ValueBytes += n * int64(r.valueSize())
	t.mortal += n * dies(r.expires())
	if p.off == 0 {
		t.inlines += n
	}
}

// dies is 1 if an item of this expiry will expire, and 0 if not.
func dies(expires int64) int64 {
	if expires != 0 {
		return 1
	}
	return 0
}
