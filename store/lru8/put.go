package lru8

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this call frees or overwrites (S5). Freeing a
// block does not harm a view (X2 of extent), no item is moved to where a view may be
// (MakeRoom of extent), and Fill copies both before it trims a block.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.heap.Config.MaxValue {
		return 0, store.ErrTooLarge
	}
	p := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	need := blockSize(len(k.Bytes), len(e.Value))
	switch {
	case need > t.heap.Largest() || t.heap.Last == store.MaxVersion:
		return t.heap.Refuse()
	case p.off == 0:
		return t.insert(k, e, need, now)
	case t.heap.Size(p.off) >= need:
		return t.rewrite(p, k, e, need)
	}
	return t.replace(p, k, e, need, now)
}

// rewrite puts the value into the block of the old item, which is long enough and has the
// same key.
func (t *Table) rewrite(p place, k store.Key, e store.Entry, need uint64) (uint64, error) {
	t.heap.Count(t.record(p.off), -1)
	t.heap.Write(p.off+atKey+uint64(len(k.Bytes)), e.Value)
	t.heap.SetHeader(p.off+atBody, k, &e)
	t.sealBody(p.off)
	t.heap.Trim(p.off, need)
	t.written(p)
	return t.heap.Commit(t.record(p.off))
}

// replace puts the item into another block, or into the old block joined with its free
// neighbours.
func (t *Table) replace(p place, k store.Key, e store.Entry, need uint64, now int64) (uint64, error) {
	old := p.off
	if off := t.heap.Take(need); off != 0 {
		t.fill(off, k, &e)
		t.heap.Count(t.record(old), -1)
		t.heap.Give(old)
		return t.reenter(p, off, k.Hash)
	}
	if t.heap.Around(old) >= need {
		t.heap.Count(t.record(old), -1)
		off := t.heap.Give(old)
		t.heap.Claim(off)
		t.fill(off, k, &e)
		return t.reenter(p, off, k.Hash)
	}
	if t.heap.Caches() {
		t.drop(p)
		return t.insert(k, e, need, now)
	}
	off := t.makeRoom(need, now, k.Bytes, e.Value)
	if off == 0 {
		return t.heap.Refuse()
	}
	t.fill(off, k, &e)
	p = t.find(k.Hash, t.record(off).Key()) // the old item may have been moved
	t.heap.Count(t.record(p.off), -1)
	t.heap.Give(p.off)
	return t.reenter(p, off, k.Hash)
}

// reenter makes the slot of a place name another block.
func (t *Table) reenter(p place, off, hash uint64) (uint64, error) {
	p.b.setSlot(p.i, slotFor(off, hash))
	t.written(p)
	return t.heap.Commit(t.record(off))
}

// written makes an item the most recent of its bucket, not marked as used.
func (t *Table) written(p place) {
	if t.heap.Caches() {
		p.b.promote(p.i, p.b.slot(p.i).unused())
	}
}

// insert stores an item whose key does not exist.
func (t *Table) insert(k store.Key, e store.Entry, need uint64, now int64) (uint64, error) {
	if t.heap.Caches() {
		t.vacate(t.bucketAt(t.bucketOf(k.Hash)), now)
	}
	off := t.heap.Take(need)
	if off == 0 {
		off = t.makeRoom(need, now, k.Bytes, e.Value)
	}
	if off == 0 {
		return t.heap.Refuse()
	}
	t.fill(off, k, &e)
	w := slotFor(off, k.Hash)
	if t.heap.Caches() {
		t.bucketAt(t.bucketOf(k.Hash)).pushFront(w)
	} else if !t.append(w, k.Hash, now) {
		t.heap.Give(off)
		return t.heap.Refuse()
	}
	return t.heap.Commit(t.record(off))
}
