package lru8

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/store"
)

// Table is a partition.
type Table struct {
	cfg        store.Config
	indexBlock store.Block
	itemBlock  store.Block
	index      []byte
	items      []byte
	buckets    uint64
	space      extent.Space
	last       uint64 // the last version that was given
	turn       uint64 // the bucket that gives up its last item next
	chainBytes int64  // in overflow buckets
	mortal     int64  // items that will expire
	stats      store.Stats
}

var (
	_ store.Partition  = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table for items of DefaultItem bytes.
func New(cfg store.Config) (*Table, error) { return NewFor(cfg, DefaultItem) }

// NewFor makes an empty table that has enough buckets for items whose key and
// value have that many bytes together, on average. Config.Eviction is ignored.
func NewFor(cfg store.Config, itemBytes int) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if itemBytes < 0 || cfg.Memory > maxMemory {
		return nil, fmt.Errorf("lru8: items of %d bytes in a memory of %d: the items must have a length and the memory at most %d bytes",
			itemBytes, cfg.Memory, int64(maxMemory))
	}
	buckets, itemMemory := split(cfg.Memory, itemBytes)
	t := &Table{cfg: cfg, buckets: buckets, last: cfg.FirstVersion}
	if t.indexBlock, err = cfg.Arena.Alloc("lru8 index", int(buckets*bucketSize)); err != nil {
		return nil, err
	}
	if t.itemBlock, err = cfg.Arena.Alloc("lru8 items", int(itemMemory)); err != nil {
		return nil, errors.Join(err, t.indexBlock.Free())
	}
	t.index, t.items = t.indexBlock.Bytes(), t.itemBlock.Bytes()
	t.space.Init(t.items, t.owner())
	return t, nil
}

// caches says whether the table may evict.
func (t *Table) caches() bool { return t.cfg.Mode == store.Cache }

// Stats returns what the table holds and did.
func (t *Table) Stats() store.Stats {
	st := t.stats
	st.Memory = t.cfg.Memory
	st.IndexBytes = int64(t.buckets)*bucketSize + t.chainBytes
	st.ItemBytes = int64(t.space.Used()) - t.chainBytes
	return st
}

// Close frees the memory.
func (t *Table) Close() error {
	t.index, t.items = nil, nil
	return errors.Join(t.indexBlock.Free(), t.itemBlock.Free())
}

// added counts an item.
func (t *Table) added(off uint64) {
	t.stats.Items++
	t.mortal += dies(t.expires(off))
	t.stats.KeyBytes += int64(t.keySize(off))
	t.stats.ValueBytes += int64(t.valueSize(off))
}

// dies is 1 if an item of this expiry will expire, and 0 if not.
func dies(expires int64) int64 {
	if expires != 0 {
		return 1
	}
	return 0
}

// removed takes an item out of the count.
func (t *Table) removed(off uint64) {
	t.stats.Items--
	t.mortal -= dies(t.expires(off))
	t.stats.KeyBytes -= int64(t.keySize(off))
	t.stats.ValueBytes -= int64(t.valueSize(off))
}

// unlink takes an item out of the index and the count. Its block is left as it
// is, and is the caller's.
func (t *Table) unlink(p place) {
	t.removed(p.off)
	if t.caches() {
		p.b.remove(p.i)
	} else {
		t.unchain(t.bucketAt(t.bucketOf(t.hash(p.off))), p.b, p.i)
	}
}

// drop unlinks an item and frees its block.
func (t *Table) drop(p place) {
	t.unlink(p)
	t.space.Give(p.off)
}
