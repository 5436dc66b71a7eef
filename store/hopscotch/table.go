package hopscotch

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Table is a partition.
type Table struct {
	heap     extent.Heap
	slots    []byte
	slotSize uint64
	homes    uint64 // the number of slots less the last five
	seed     uint64 // of checksums
	turn     uint64 // the slot that takeTurn returned last
	stride   uint64 // from there to the next
	inlines  int64  // number of inline items
}

var (
	_ store.Exporter   = (*Table)(nil)
	_ store.Reader     = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table whose slots have room for Inline bytes of key and value.
func New(cfg store.Config) (*Table, error) { return open(cfg, inlineSlot) }

// NewVar makes an empty table whose items are all in blocks.
func NewVar(cfg store.Config) (*Table, error) { return open(cfg, slotHead) }

func open(cfg store.Config, slotSize uint64) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if cfg.Memory > maxMemory {
		return nil, fmt.Errorf("hopscotch: memory of %d bytes: a partition can have at most %d; use more partitions", cfg.Memory, int64(maxMemory))
	}
	slots, itemMemory := split(cfg, slotSize)
	t := &Table{slotSize: slotSize, homes: slots - (reach - 1), seed: uint64(cfg.Seed), stride: strideFor(slots)}
	owner := extent.Table{Item: t.item, Spare: t.spareBlock, Unlink: t.unlinkBlock, Moved: t.moved}
	if t.slots, err = t.heap.Open(cfg, "hopscotch", slots*slotSize, itemMemory, true, owner); err != nil {
		return nil, err
	}
	return t, nil
}

// Stats returns the contents and the counters of the table. An inline item counts as item
// bytes, the words of its slot as index.
func (t *Table) Stats() store.Stats {
	st := t.heap.Report()
	inline := t.inlines * (inlineSlot - slotHead)
	st.IndexBytes = int64(len(t.slots)) - inline
	st.ItemBytes += inline
	return st
}

// Close frees the memory.
func (t *Table) Close() error {
	t.slots = nil
	return t.heap.Close()
}

// count adds n items like the one at a place to the counters.
func (t *Table) count(p place, n int64) {
	t.heap.Count(t.record(p), n)
	if p.off == 0 {
		t.inlines += n
	}
}
