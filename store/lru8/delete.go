package lru8

import "github.com/remora-kv/remora/store"

// Delete removes the item if the condition is met.
func (t *Table) Delete(k store.Key, c store.Condition, now int64) error {
	p := t.live(k.Hash, k.Bytes, now)
	if err := t.heap.Delete(t.versionAt(p), c); err != nil {
		return err
	}
	t.drop(p)
	return nil
}

// versionAt returns the version of the item at a place, 0 if there is none.
func (t *Table) versionAt(p place) uint64 {
	if p.off == 0 {
		return 0
	}
	return t.record(p.off).Version()
}
