package lru8

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this very call frees or overwrites
// (S5). So memory is found first, then key and value are copied into it, and only
// then is a block cut or a header written where they may have come from (L5).
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	p, reclaimed := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	need := blockSize(len(k.Bytes), len(e.Value))
	switch {
	case need > t.space.Largest() || t.last == store.MaxVersion:
		return t.refuse()
	case p.off == 0:
		return t.insert(k, e, need, now, reclaimed)
	case t.space.Size(p.off) >= need:
		return t.rewrite(p, k, e, need)
	}
	return t.replace(p, k, e, need, now)
}

// rewrite puts the value into the block of the item, which is long enough. The
// key is there.
func (t *Table) rewrite(p place, k store.Key, e store.Entry, need uint64) (uint64, error) {
	t.removed(p.off)
	t.writeValue(p.off, len(k.Bytes), e.Value)
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
		t.fill(off, k, e, need, false)
		t.removed(old)
		t.space.Give(old)
		return t.reenter(p, off, k.Hash)
	}
	if t.space.Around(old) >= need {
		t.removed(old)
		off := t.space.Give(old)
		t.space.Claim(off)
		t.fill(off, k, e, need, true)
		return t.reenter(p, off, k.Hash)
	}
	if t.caches() {
		t.unlink(p)
		t.space.Give(old)
		return t.insert(k, e, need, now, true)
	}
	off := t.reclaim(need, now, t.mayMove(k, e))
	if off == 0 {
		return t.refuse()
	}
	t.fill(off, k, e, need, true)
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

// insert stores an item that is not there. freed says that this call has freed
// memory that key and value may be in.
func (t *Table) insert(k store.Key, e store.Entry, need uint64, now int64, freed bool) (uint64, error) {
	if t.caches() {
		freed = t.vacate(t.bucketAt(t.bucketOf(k.Hash)), now) || freed
	}
	off := t.space.Take(need)
	if off == 0 {
		freed = true
		if off = t.makeRoom(need, now, t.mayMove(k, e)); off == 0 {
			return t.refuse()
		}
	}
	t.fill(off, k, e, need, freed)
	w := slotFor(off, k.Hash)
	if t.caches() {
		t.bucketAt(t.bucketOf(k.Hash)).pushFront(w)
	} else if !t.append(w, k.Hash, now) {
		t.space.Give(off)
		return t.refuse()
	}
	return t.commit(off)
}

// makeRoom frees memory until there is a block of need bytes, and takes it: by
// eviction in a cache, by reclaiming what has expired and moving what is in the
// way in a store. Only a store may fail; then it returns 0.
func (t *Table) makeRoom(need uint64, now int64, move bool) uint64 {
	if t.caches() {
		return t.evictFor(need, now, move)
	}
	return t.reclaim(need, now, move)
}

// mayMove says whether items may be moved to make room for this one. Where they
// move to may be memory that was freed in this call and that a view still shows;
// so not if the key or the value is a view.
func (t *Table) mayMove(k store.Key, e store.Entry) bool {
	return !within(t.items, k.Bytes) && !within(t.items, e.Value)
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

// shortKey is the length up to which a key is copied aside without ado.
const shortKey = 128

// fill writes an item into a block that was taken, and cuts the rest off. If this
// call has freed memory, the block may be where the key is, and the value that
// comes first would overwrite it: then the key is copied aside.
func (t *Table) fill(off uint64, k store.Key, e store.Entry, need uint64, freed bool) {
	switch {
	case !freed:
		t.write(off, k, e)
	case len(k.Bytes) <= shortKey:
		var aside [shortKey]byte
		k.Bytes = aside[:copy(aside[:], k.Bytes)]
		t.write(off, k, e)
	default:
		t.fillLong(off, k, e)
	}
	t.space.Trim(off, need)
	t.space.MoveHand(off, t.space.Next(off))
}

// fillLong copies a long key aside, to the stack: 64 KiB of it are not needed
// otherwise.
//
//go:noinline
func (t *Table) fillLong(off uint64, k store.Key, e store.Entry) {
	var aside [store.MaxKey]byte
	k.Bytes = aside[:copy(aside[:], k.Bytes)]
	t.write(off, k, e)
}

// write writes the value, which may overlap its own place, then the rest.
func (t *Table) write(off uint64, k store.Key, e store.Entry) {
	t.writeValue(off, len(k.Bytes), e.Value)
	copy(t.items[off+atKey:], k.Bytes)
	t.writeHeader(off, k.Hash, len(k.Bytes), e, t.last+1)
}
