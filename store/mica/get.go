package mica

import "github.com/remora-kv/remora/store"

// Get returns the item and counts it as used.
func (t *Table) Get(k store.Key, now int64) (item store.Item, err error) {
	err = t.Read(k, now, &item)
	return item, err
}

// Read does what Get does, and writes the item to *item.
func (t *Table) Read(k store.Key, now int64, item *store.Item) error {
	t.stats.Gets++
	at := t.lookedUp(k)
	if at == 0 {
		if at = t.find(k.Hash, k.Bytes).at; at == 0 {
			return store.ErrNotFound
		}
	}
	m := t.metaOf(at)
	if t.expired(at, m, now) {
		return store.ErrNotFound
	}
	t.stats.Hits++
	t.got = at
	if t.spares && m&metaUsed == 0 {
		// Only if it is not set, so that reading keeps lines clean.
		t.mem[at+stateAt] |= stateUsed
	}
	t.show(at, m, item)
	return nil
}

// show fills an item in place, word by word. A returned item would be copied through
// the stack, in pieces for which CPUs cannot forward the stores before.
func (t *Table) show(at int, m meta, item *store.Item) {
	item.Value = t.valueOf(at, m)
	item.Version = t.versionOf(at, m)
	item.Expires = t.expiresOf(at, m)
	item.Flags = t.flagsOf(at, m)
}

// Each calls visit for all items that have not expired.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	var item store.Item
	t.eachInLog(func(at int, m meta) bool {
		if m&metaLive == 0 || t.expired(at, m, now) {
			return true
		}
		key := t.keyOf(at, m)
		t.show(at, m, &item)
		return visit(store.Key{Hash: t.hash(key), Bytes: key[:len(key):len(key)]}, item)
	})
}

// eachInLog calls visit for all items of the log, dead and live, the oldest
// first, until it returns false.
func (t *Table) eachInLog(visit func(at int, m meta) bool) {
	for _, span := range t.ring.spans() {
		for at := span[0]; at < span[1]; {
			m := t.metaOf(at)
			if !visit(at, m) {
				return
			}
			at += t.sizeOf(m)
		}
	}
}
