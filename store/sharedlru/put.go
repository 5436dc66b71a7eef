package sharedlru

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met, and makes it the newest.
//
// Key and value may lie in the view of this handle, which Put does not write, but never in
// memory of the table (H6). So Put cannot overwrite them.
func (h *Handle) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	t := h.table
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.live(&k, now)
	if err := c.Met(t.versionAt(at)); err != nil {
		return 0, err
	}
	size := len(k.Bytes) + len(e.Value)
	if size > len(h.view) || t.last == store.MaxVersion || !t.write(at, k, e, chunksFor(size), now) {
		h.calls.refused++
		return 0, store.ErrFull
	}
	h.calls.puts++
	return t.last, nil
}

// write puts an item in place of the one at at, or as a new one if at is 0, and reports
// whether there was room.
func (t *Table) write(at ref, k store.Key, e store.Entry, need uint32, now int64) bool {
	if at == 0 {
		return t.insert(k, e, need, now)
	}
	have := t.size(at)
	t.use(at) // so that makeRoom does not evict it
	if need > have && !t.makeRoom(need-have, now) {
		return false
	}
	t.removed(at)
	t.chunks.resize(at, have, need)
	t.commit(at, k, e)
	return true
}

func (t *Table) insert(k store.Key, e store.Entry, need uint32, now int64) bool {
	if !t.shorten(k.Hash, now) || !t.makeRoom(need, now) {
		return false
	}
	at := t.chunks.takeChain(need)
	t.commit(at, k, e)
	t.enter(at)
	t.pushNewest(at)
	return true
}

// commit fills the chunks of an item and counts it.
func (t *Table) commit(at ref, k store.Key, e store.Entry) {
	t.last++
	t.fill(at, k, e, t.last)
	t.added(at)
}

// Delete removes the item if the condition is met.
func (h *Handle) Delete(k store.Key, c store.Condition, now int64) error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.live(&k, now)
	if err := c.Met(t.versionAt(at)); err != nil {
		return err
	}
	if at == 0 {
		return store.ErrNotFound
	}
	t.remove(at)
	h.calls.deletes++
	return nil
}
