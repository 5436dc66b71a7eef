package slots

import "github.com/remora-kv/remora/store"

// Delete removes the item if the condition is met.
func (t *Table) Delete(k store.Key, c store.Condition, now int64) error {
	i := t.live(k, now)
	if err := c.Met(t.versionAt(i)); err != nil {
		return err
	}
	if i == nowhere {
		return store.ErrNotFound
	}
	t.remove(i)
	t.stats.Deletes++
	return nil
}

// uncount takes the item in slot i out of the counts.
func (t *Table) uncount(i uint64) {
	s := t.shadow(i)
	t.stats.Items--
	t.stats.KeyBytes -= int64(s.keySize())
	t.stats.ValueBytes -= int64(s.valueSize())
}

// makeTombstone replaces an item by a tombstone.
func (t *Table) makeTombstone(i uint64) {
	t.uncount(i)
	t.mark(i, tombstone)
}

// mark gives slot i a state without an item.
func (t *Table) mark(i uint64, st state) {
	t.publish(i, head(st))
	t.shadow(i).leave(st)
}

// remove makes an item a tombstone. Then it empties the tombstones that no search has to
// pass any more (O4): this one and those right before it, at most a window of them.
func (t *Table) remove(i uint64) {
	t.makeTombstone(i)
	if t.shadow(t.after(i, 1)).state() != empty {
		return
	}
	for range t.window {
		t.mark(i, empty)
		if i = t.after(i, t.n-1); t.shadow(i).state() != tombstone {
			return
		}
	}
}
