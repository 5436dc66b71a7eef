package mica

import "github.com/remora-kv/remora/store"

// Touch sets the time when the item expires, 0 for never, and counts it as used.
func (t *Table) Touch(k store.Key, expires, now int64) error {
	t.invalidate()
	s := t.find(k.Hash, k.Bytes)
	version := t.presentVersion(s, now)
	if version == 0 {
		t.reclaim(s, version)
		return store.ErrNotFound
	}
	m := t.metaOf(s.at)
	switch {
	case m&metaHasExpiry != 0:
		t.noteExpiry(expires)
		t.setExpiry(s.at, m, expires, t.usedMark())
	case expires != 0:
		t.addExpiry(k, s, m, expires, now)
	default:
		t.publishMeta(s.at, m|t.usedMark())
	}
	return nil
}

// addExpiry rewrites an item that has no room for an expiry. Such an item is
// small, and there is always memory for one more (M8).
func (t *Table) addExpiry(k store.Key, s slot, m meta, expires, now int64) {
	d := draft{
		key: k.Bytes, value: t.valueOf(s.at, m), hash: t.hash(k.Bytes), flags: t.flagsOf(s.at, m),
		expires: expires, version: t.versionOf(s.at, m), used: t.usedMark(),
	}
	t.shape(&d)
	var ok bool
	if t.keeping {
		t.pin(&d)
		ok = t.append(&d, s, 0, now)
		t.pins = pins{}
	} else {
		ok = t.cache(&d, s, now)
	}
	if !ok {
		panic("mica: no room for an expiry, which admits had reserved")
	}
}
