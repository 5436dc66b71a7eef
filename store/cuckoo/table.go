package cuckoo

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/store"
)

// Table is a partition.
type Table struct {
	hashing
	cfg        store.Config
	indexBlock store.Block
	itemBlock  store.Block
	index      []byte
	items      []byte
	layout     []byte
	last       uint64 // the last version that was given
	mortal     int64  // items that will expire
	stats      store.Stats
	space      extent.Space
	search     search
}

var (
	_ store.Exporter   = (*Table)(nil)
	_ store.Reader     = (*Table)(nil)
	_ store.Prefetcher = (*Table)(nil)
)

// New makes an empty table for items of DefaultItem bytes.
func New(cfg store.Config) (*Table, error) { return NewFor(cfg, DefaultItem) }

// NewFor makes an empty table that has enough buckets for items whose key and value have
// that many bytes together, on average.
func NewFor(cfg store.Config, itemBytes int) (*Table, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	if itemBytes < 0 || cfg.Memory > maxMemory {
		return nil, fmt.Errorf("cuckoo: items of %d bytes in a memory of %d: the items must have a length and the memory at most %d bytes",
			itemBytes, cfg.Memory, int64(maxMemory))
	}
	buckets, itemMemory := split(cfg.Memory, itemBytes)
	t := &Table{hashing: newHashing(buckets, cfg.Seed), cfg: cfg, last: cfg.FirstVersion}
	if t.indexBlock, err = cfg.Arena.Export("cuckoo index", int(buckets*bucketSize), false); err != nil {
		return nil, err
	}
	if t.itemBlock, err = cfg.Arena.Export("cuckoo items", int(itemMemory), false); err != nil {
		return nil, errors.Join(err, t.indexBlock.Free())
	}
	t.index, t.items = t.indexBlock.Bytes(), t.itemBlock.Bytes()
	t.space.Init(t.items, t.owner())
	l := layout{t.hashing, itemMemory}
	t.layout = l.encode()
	return t, nil
}

// Export returns index and item memory.
func (t *Table) Export() store.Export {
	return store.Export{Layout: t.layout, Areas: []store.Block{indexArea: t.indexBlock, itemArea: t.itemBlock}}
}

// caches says whether the table may evict.
func (t *Table) caches() bool { return t.cfg.Mode == store.Cache }

// Stats returns what the table holds and did.
func (t *Table) Stats() store.Stats {
	st := t.stats
	st.Memory = t.cfg.Memory
	st.IndexBytes = int64(t.buckets) * bucketSize
	st.ItemBytes = int64(t.space.Used())
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

// removed takes an item out of the count.
func (t *Table) removed(off uint64) {
	t.stats.Items--
	t.mortal -= dies(t.expires(off))
	t.stats.KeyBytes -= int64(t.keySize(off))
	t.stats.ValueBytes -= int64(t.valueSize(off))
}

// dies is 1 if an item of this expiry will expire, and 0 if not.
func dies(expires int64) int64 { return int64(one(expires != 0)) }

// unlink takes an item out of the index and the count. Its block is left as it is, and is
// the caller's.
func (t *Table) unlink(p place) {
	t.removed(p.off)
	t.leave(p.bucket)
}

// drop unlinks an item and frees its block.
func (t *Table) drop(p place) {
	t.unlink(p)
	t.space.Give(p.off)
}
