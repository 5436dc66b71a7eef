package lru8

import "github.com/remora-kv/remora/store"

// Get returns the item and makes it the most recent of its bucket.
func (t *Table) Get(k store.Key, now int64) (item store.Item, err error) {
	err = t.Read(k, now, &item)
	return item, err
}

// Read is Get into the item of the caller.
func (t *Table) Read(k store.Key, now int64, item *store.Item) error {
	t.stats.Gets++
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.stats.Hits++
	t.use(p)
	t.show(p.off, item)
	return nil
}

// use makes an item the most recent of its bucket, and marks it as used. A store
// has no need of that.
func (t *Table) use(p place) {
	if w := p.b.slot(p.i); t.caches() && (p.i > 0 || !w.isUsed()) {
		p.b.promote(p.i, w|usedBit)
	}
}

// Touch sets the time when the item expires, and makes it the most recent.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.mortal += dies(expires) - dies(t.expires(p.off))
	t.setExpires(p.off, expires)
	t.use(p)
	return nil
}

// Each visits the items in the order of their memory.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	s := &t.space
	var item store.Item
	for off := s.First(); off < s.End(); off = s.Next(off) {
		if s.Kind(off) != kindItem || t.expired(off, now) {
			continue
		}
		t.show(off, &item)
		if !visit(store.Key{Hash: t.hash(off), Bytes: t.keyOf(off)}, item) {
			return
		}
	}
}
