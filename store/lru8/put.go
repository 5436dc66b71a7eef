package lru8

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this very call frees or overwrites (S5). To
// free a block does not harm a view (X2 of extent), nothing is moved to where one may be
// (MayMove), and Fill copies both before it cuts a block.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	p := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	need := blockSize(len(k.Bytes), len(e.Value))
	switch {
	case need > t.space.Largest() || t.last == store.MaxVersion:
		return t.refuse()
	case p.off == 0:
		return t.insert(k, e, need, now)
	case t.space.Size(p.off) >= need:
		return t.rewrite(p, k, e, need)
	}
	return t.replace(p, k, e, need, now)
}

// rewrite puts the value into the block of the item, which is long enough. The
// key is there.
func (t *Table) rewrite(p place, k store.Key, e store.Entry, need uint64) (uint64, error) {
	t.removed(p.off)
	t.space.Write(p.off+atKey+uint64(len(k.Bytes)), e.Value)
	t.writeHeader(p.off, k.Hash, len(k.Bytes), e, t.last+1)
	t.space.Trim(p.off, need)
	t.written(p)
	return t.commit(p.off)
}

// replace puts the item into another block, or into a longer one that the old
// block becomes a part of.
func (t *Table) replace(p place, k store.Key, e store.Entry, need uint64, now int64) (uint64, error) {
	old := p.off
	if off := t.space.Take(need); off != 0 {
		t.fill(off, k, e)
		t.removed(old)
		t.space.Give(old)
		return t.reenter(p, off, k.Hash)
	}
	if t.space.Around(old) >= need {
		t.removed(old)
		off := t.space.Give(old)
		t.space.Claim(off)
		t.fill(off, k, e)
		return t.reenter(p, off, k.Hash)
	}
	if t.caches() {
		t.drop(p)
		return t.insert(k, e, need, now)
	}
	off := t.makeRoom(need, now, t.space.MayMove(k.Bytes, e.Value))
	if off == 0 {
		return t.refuse()
	}
	t.fill(off, k, e)
	p = t.find(k.Hash, t.keyOf(off)) // it may have been moved
	t.removed(p.off)
	t.space.Give(p.off)
	return t.reenter(p, off, k.Hash)
}

// reenter has the slot of a place lead to another block.
func (t *Table) reenter(p place, off, hash uint64) (uint64, error) {
	p.b.setSlot(p.i, slotFor(off, hash))
	t.written(p)
	return t.commit(off)
}

// written makes an item the most recent of its bucket, not used yet.
func (t *Table) written(p place) {
	if t.caches() {
		p.b.promote(p.i, p.b.slot(p.i).unused())
	}
}

// insert stores an item that is not there.
func (t *Table) insert(k store.Key, e store.Entry, need uint64, now int64) (uint64, error) {
	if t.caches() {
		t.vacate(t.bucketAt(t.bucketOf(k.Hash)), now)
	}
	off := t.space.Take(need)
	if off == 0 {
		off = t.makeRoom(need, now, t.space.MayMove(k.Bytes, e.Value))
	}
	if off == 0 {
		return t.refuse()
	}
	t.fill(off, k, e)
	w := slotFor(off, k.Hash)
	if t.caches() {
		t.bucketAt(t.bucketOf(k.Hash)).pushFront(w)
	} else if !t.append(w, k.Hash, now) {
		t.space.Give(off)
		return t.refuse()
	}
	return t.commit(off)
}

// commit counts a Put of the item at off, whose version is the next.
func (t *Table) commit(off uint64) (uint64, error) {
	t.last++
	t.added(off)
	t.stats.Puts++
	return t.last, nil
}

func (t *Table) refuse() (uint64, error) {
	t.stats.Refused++
	return 0, store.ErrFull
}

// fill writes an item into a block that was taken.
func (t *Table) fill(off uint64, k store.Key, e store.Entry) {
	t.space.Fill(off, atKey, k.Bytes, e.Value)
	t.writeHeader(off, k.Hash, len(k.Bytes), e, t.last+1)
}
