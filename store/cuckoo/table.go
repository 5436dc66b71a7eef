package cuckoo

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Table is a partition.
type Table struct {
	hashing
	heap   extent.Heap
	index  []byte
	layout []byte
	search search
}

var (
	_ store.Exporter   = (*Table)(nil)
	_ store.Reader     = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table for items of DefaultItem bytes.
func New(cfg store.Config) (*Table, error) { return NewFor(cfg, DefaultItem) }

// NewFor makes an empty table with enough buckets for items whose key and value together
// have itemBytes on average.
func NewFor(cfg store.Config, itemBytes int) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if itemBytes < 0 || cfg.Memory > maxMemory {
		return nil, fmt.Errorf("cuckoo: items of %d bytes in %d bytes of memory: the length must not be negative, the memory at most %d bytes",
			itemBytes, cfg.Memory, int64(maxMemory))
	}
	buckets, itemMemory := split(cfg.Memory, itemBytes)
	t := &Table{hashing: newHashing(buckets, cfg.Seed)}
	owner := extent.Table{Item: t.item, Spare: t.spare, Unlink: t.unlinkBlock, Moved: t.moved}
	if t.index, err = t.heap.Open(cfg, "cuckoo", buckets*bucketSize, itemMemory, true, owner); err != nil {
		return nil, err
	}
	l := layout{t.hashing, itemMemory}
	t.layout = l.encode()
	return t, nil
}

// Export returns the index and the item memory.
func (t *Table) Export() store.Export {
	return store.Export{Layout: t.layout, Areas: t.heap.Areas()}
}

// Stats returns the contents and the counters of the table.
func (t *Table) Stats() store.Stats {
	st := t.heap.Report()
	st.IndexBytes = int64(t.buckets) * bucketSize
	return st
}

// Close frees the memory.
func (t *Table) Close() error {
	t.index = nil
	return t.heap.Close()
}

// unlink removes an item from the index and the counts. The caller frees its block.
func (t *Table) unlink(p place) {
	t.heap.Count(t.record(p.off), -1)
	t.leave(p.bucket)
}

func (t *Table) unlinkBlock(off uint64) { t.unlink(t.locate(off)) }

// moved makes the entry of an item name the block that it was moved to (C10). The item is
// no longer marked as used.
func (t *Table) moved(from, to uint64) { t.rename(t.locate(from).bucket, t.entryFor(to)) }

// drop unlinks an item and frees its block.
func (t *Table) drop(p place) {
	t.unlink(p)
	t.heap.Give(p.off)
}
