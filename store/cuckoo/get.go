package cuckoo

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Get returns the item and marks it as used.
func (t *Table) Get(k store.Key, now int64) (item store.Item, err error) {
	err = t.Read(k, now, &item)
	return item, err
}

// Read does what Get does, and writes the item to *item.
func (t *Table) Read(k store.Key, now int64, item *store.Item) error {
	t.heap.Stats.Gets++
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.heap.Stats.Hits++
	t.use(p.off)
	t.record(p.off).Show(item)
	return nil
}

// use marks an item as used, if eviction takes account of uses.
func (t *Table) use(off uint64) {
	if t.heap.Caches() && t.heap.Config.Eviction == store.SecondChance && t.heap.Kind(off) != used {
		t.heap.SetKind(off, used)
	}
}

// Touch sets the time when the item expires, and marks it as used.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.heap.Renew(t.record(p.off).Expires(), expires)
	t.heap.SetWord(p.off+atBody+extent.BodyExpires, uint64(expires))
	t.seal(p.off)
	t.use(p.off)
	return nil
}

// Each visits the items in the order of the index.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	var item store.Item
	for bucket := range t.buckets {
		e := t.entryAt(bucket)
		if e.empty() {
			continue
		}
		r := t.record(e.offset())
		if r.Expired(now) {
			continue
		}
		r.Show(&item)
		if !visit(r.StoreKey(), item) {
			return
		}
	}
}
