package lru8

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Get returns the item and makes it the most recent of its bucket.
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
	t.use(p)
	t.record(p.off).Show(item)
	return nil
}

// use moves an item to the front of its bucket and marks it as used, in Cache mode.
func (t *Table) use(p place) {
	if w := p.b.slot(p.i); t.heap.Caches() && (p.i > 0 || !w.isUsed()) {
		p.b.promote(p.i, w|usedBit)
	}
}

// Touch sets the time when the item expires, and makes it the most recent.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.heap.Renew(t.record(p.off).Expires(), expires)
	t.heap.SetWord(p.off+atBody+extent.BodyExpires, uint64(expires))
	t.seal(p.off)
	t.use(p)
	return nil
}

// Each visits the items in the order of their offsets.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	s := &t.heap
	var item store.Item
	for off := s.First(); off < s.End(); off = s.Next(off) {
		if s.Kind(off) != kindItem {
			continue
		}
		r := t.record(off)
		if r.Expired(now) {
			continue
		}
		r.Show(&item)
		if !visit(r.StoreKey(), item) {
			return
		}
	}
}
