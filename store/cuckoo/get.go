package cuckoo

import "github.com/remora-kv/remora/store"

// Get returns the item and marks it as used.
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
	t.use(p.off)
	t.show(p.off, item)
	return nil
}

// use marks an item as used. A store and a queue have no need of that.
func (t *Table) use(off uint64) {
	if t.caches() && t.cfg.Eviction == store.SecondChance && t.space.Kind(off) != used {
		t.space.SetKind(off, used)
	}
}

// Touch sets the time when the item expires, and marks it as used.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if p.off == 0 {
		return store.ErrNotFound
	}
	t.mortal += dies(expires) - dies(t.expires(p.off))
	t.setExpires(p.off, expires)
	t.use(p.off)
	return nil
}

// Each visits the items in the order of the index.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	var item store.Item
	for bucket := range t.buckets {
		e := t.entryAt(bucket)
		off := e.offset()
		if e.empty() || t.expired(off, now) {
			continue
		}
		t.show(off, &item)
		if !visit(store.Key{Hash: t.hash(off), Bytes: t.keyOf(off)}, item) {
			return
		}
	}
}
