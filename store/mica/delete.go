package mica

import "github.com/remora-kv/remora/store"

// Delete removes the item if the condition is met.
func (t *Table) Delete(k store.Key, c store.Condition, now int64) error {
	t.invalidate()
	s := t.find(k.Hash, k.Bytes)
	version := t.presentVersion(s, now)
	if err := c.Met(version); err != nil {
		t.reclaim(s, version)
		return err
	}
	if version == 0 {
		t.reclaim(s, version)
		return store.ErrNotFound
	}
	t.stats.Deletes++
	t.drop(s)
	return nil
}

// presentVersion returns the version of the item of a slot, 0 if there is none or it
// has expired.
func (t *Table) presentVersion(s slot, now int64) uint64 {
	if s.at == 0 {
		return 0
	}
	m := t.metaOf(s.at)
	if t.expired(s.at, m, now) {
		return 0
	}
	return t.versionOf(s.at, m)
}

// reclaim drops the item of a slot if it has expired, which presentVersion shows by
// returning 0.
func (t *Table) reclaim(s slot, presentVersion uint64) {
	if s.at != 0 && presentVersion == 0 {
		t.stats.Expired++
		t.drop(s)
	}
}

// drop removes an item and its entry.
func (t *Table) drop(s slot) {
	t.kill(s.at, t.metaOf(s.at))
	t.remove(s)
	if t.stats.Items == 0 {
		t.ring.reset()
	}
	t.adapt()
}
