package mica

import "github.com/remora-kv/remora/store"

// Get returns the item and counts it as used.
func (t *Table) Get(k store.Key, now int64) (store.Item, error) {
	t.stats.Gets++
	at := t.find(k.Hash, k.Bytes).at
	if at == 0 {
		return store.Item{}, store.ErrNotFound
	}
	m := t.metaOf(at)
	if t.expired(at, m, now) {
		return store.Item{}, store.ErrNotFound
	}
	t.stats.Hits++
	if t.spares && m&metaUsed == 0 {
		// Written once, so that reading keeps lines clean.
		t.mem[at+stateAt] |= stateUsed
	}
	return t.itemOf(at, m), nil
}

func (t *Table) itemOf(at int, m meta) store.Item {
	return store.Item{
		Value:   t.valueOf(at, m),
		Version: t.versionOf(at, m),
		Expires: t.expiresOf(at, m),
		Flags:   t.flagsOf(at, m),
	}
}

// Each visits all items that have not expired.
func (t *Table) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	t.eachInLog(func(at int, m meta) bool {
		if m&metaLive == 0 || t.expired(at, m, now) {
			return true
		}
		key := t.keyOf(at, m)
		return visit(store.Key{Hash: t.hash(key), Bytes: key[:len(key):len(key)]}, t.itemOf(at, m))
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
