package lru8

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Table is a partition.
type Table struct {
	heap       extent.Heap
	index      []byte
	buckets    uint64
	turn       uint64 // the bucket whose last item is evicted next
	chainBytes int64  // in overflow buckets
}

var (
	_ store.Partition  = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table for items of DefaultItem bytes.
func New(cfg store.Config) (*Table, error) { return NewFor(cfg, DefaultItem) }

// NewFor makes an empty table with enough buckets for items whose key and value together
// have itemBytes on average. Config.Eviction is ignored.
func NewFor(cfg store.Config, itemBytes int) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if itemBytes < 0 || cfg.Memory > maxMemory {
		return nil, fmt.Errorf("lru8: items of %d bytes in %d bytes of memory: the length must not be negative, the memory at most %d bytes",
			itemBytes, cfg.Memory, int64(maxMemory))
	}
	buckets, itemMemory := split(cfg.Memory, itemBytes)
	t := &Table{buckets: buckets}
	owner := extent.Table{Item: t.item, Spare: t.spareBlock, Unlink: t.unlinkBlock, Moved: t.moved}
	if t.index, err = t.heap.Open(cfg, "lru8", buckets*bucketSize, itemMemory, false, owner); err != nil {
		return nil, err
	}
	return t, nil
}

// Stats returns the contents and the counters of the table.
func (t *Table) Stats() store.Stats {
	st := t.heap.Report()
	st.IndexBytes = int64(t.buckets)*bucketSize + t.chainBytes
	st.ItemBytes -= t.chainBytes
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
	if t.heap.Caches() {
		p.b.remove(p.i)
	} else {
		t.unchain(t.bucketAt(t.bucketOf(t.record(p.off).Hash())), p.b, p.i)
	}
}

func (t *Table) unlinkBlock(off uint64) { t.unlink(t.locate(off)) }

// moved makes the index name the block that an item or an overflow bucket was moved to. The
// item is no longer marked as used.
func (t *Table) moved(from, to uint64) {
	if t.heap.Kind(from) == kindChain {
		t.chainMoved(from, to)
		return
	}
	p := t.locate(from)
	p.b.setSlot(p.i, slotFor(to, t.record(to).Hash()))
}

// drop unlinks an item and frees its block.
func (t *Table) drop(p place) {
	t.unlink(p)
	t.heap.Give(p.off)
}
