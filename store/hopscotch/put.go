package hopscotch

import "github.com/remora-kv/remora/store"

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this very call frees, moves or overwrites (S5).
// What is in slots is short, and is copied aside before a slot is written. For blocks,
// memory is found first, then key and value are copied into it, and only then is a block
// cut or a header written where they may have come from (X2 of internal/extent).
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	p, reclaimed := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	if t.last == store.MaxVersion {
		return t.refuse()
	}
	if t.fitsInline(len(k.Bytes), len(e.Value)) && (p.off == 0 || !p.inChain()) {
		return t.putInline(p, k, &e, now, reclaimed)
	}
	var keyAside, valueAside [Inline]byte
	k.Bytes = t.settle(&keyAside, k.Bytes)
	e.Value = t.settle(&valueAside, e.Value)
	return t.putBlock(p, k, &e, now, reclaimed)
}

// settle returns b, or a copy of it if it is a view of a slot.
func (t *Table) settle(aside *[Inline]byte, b []byte) []byte {
	if within(t.slots, b) {
		return aside[:copy(aside[:], b)]
	}
	return b
}

// putInline stores an item that a slot has room for. If there is no slot for it, it goes
// where longer ones do.
func (t *Table) putInline(p place, k store.Key, e *store.Entry, now int64, freed bool) (uint64, error) {
	var m image
	m.compose(k, e, t.last+1)
	if p.isFound() {
		t.removed(p)
		t.enterInline(p.home, p.slot, k.Hash, &m)
		if p.off != 0 {
			t.space.Give(p.off)
		}
		return t.commit(place{slot: p.slot})
	}
	h := t.homeOf(k.Hash)
	if i := t.seat(h, now); i != none {
		t.enterInline(h, i, k.Hash, &m)
		return t.commit(place{slot: i})
	}
	r, kept := m.record(), *e
	k.Bytes, kept.Value = r.key(), r.value()
	return t.putBlock(p, k, &kept, now, freed)
}

func (t *Table) enterInline(h, i, hash uint64, m *image) {
	t.writeInline(i, m)
	t.occupy(h, i, 0, hash, m.record().version())
}

// putBlock stores an item in a block.
func (t *Table) putBlock(p place, k store.Key, e *store.Entry, now int64, reclaimed bool) (uint64, error) {
	need := blockSize(len(k.Bytes), len(e.Value))
	switch {
	case need > t.space.Largest():
		return t.refuse()
	case !p.isFound():
		return t.insert(k, e, need, now, reclaimed)
	case p.off != 0 && t.space.Size(p.off) >= need:
		return t.rewrite(p, k, e, need)
	}
	return t.replace(p, k, e, need, now)
}

// rewrite puts the value into the block of the item, which is long enough. The key is
// there.
func (t *Table) rewrite(p place, k store.Key, e *store.Entry, need uint64) (uint64, error) {
	t.removed(p)
	next := t.next(p.off)
	t.moveIn(p.off+atKey+uint64(len(k.Bytes)), e.Value)
	t.writeHeader(p.off, k, e, next, t.last+1)
	t.space.Trim(p.off, need)
	t.relead(p, p.off, next)
	return t.commit(p)
}

// replace puts the item into another block, or into a longer one that the old block
// becomes a part of.
func (t *Table) replace(p place, k store.Key, e *store.Entry, need uint64, now int64) (uint64, error) {
	if off := t.space.Take(need); off != 0 {
		t.fill(off, k, e, need, false)
		return t.exchange(p, off)
	}
	if p.off != 0 && t.space.Around(p.off) >= need {
		t.removed(p)
		next := t.nextOf(p)
		off := t.space.Give(p.off)
		t.space.Claim(off)
		t.fill(off, k, e, need, true)
		t.relead(p, off, next)
		return t.commit(place{slot: p.slot, off: off})
	}
	if t.caches() {
		t.drop(p)
		return t.insert(k, e, need, now, true)
	}
	off := t.reclaim(need, now, t.mayMove(k, e))
	if off == 0 {
		return t.refuse()
	}
	t.fill(off, k, e, need, true)
	return t.exchange(t.find(k.Hash, t.block(off).key()), off) // the old one may have been moved
}

// exchange has a place lead to another block, and frees the old one.
func (t *Table) exchange(p place, off uint64) (uint64, error) {
	t.removed(p)
	t.relead(p, off, t.nextOf(p))
	if p.off != 0 {
		t.space.Give(p.off)
	}
	return t.commit(place{slot: p.slot, off: off})
}

// insert stores an item that is not there. freed says that this call has freed memory that
// key and value may be in.
func (t *Table) insert(k store.Key, e *store.Entry, need uint64, now int64, freed bool) (uint64, error) {
	off := t.space.Take(need)
	if off == 0 {
		freed = true
		if off = t.makeRoom(need, now, t.mayMove(k, e)); off == 0 {
			return t.refuse()
		}
	}
	t.fill(off, k, e, need, freed)
	h := t.homeOf(k.Hash)
	if i := t.seat(h, now); i != none {
		t.occupy(h, i, off, k.Hash, t.last+1)
		return t.commit(place{slot: i, off: off})
	}
	if !t.push(h, off, now) {
		t.space.Give(off)
		return t.refuse()
	}
	return t.commit(place{slot: none, off: off})
}

// makeRoom frees memory until there is a block of need bytes, and takes it: by eviction in
// a cache, by reclaiming what has expired and moving what is in the way in a store. Only a
// store may fail; then it returns 0.
func (t *Table) makeRoom(need uint64, now int64, move bool) uint64 {
	if t.caches() {
		return t.evictFor(need, now, move)
	}
	return t.reclaim(need, now, move)
}

// mayMove says whether items may be moved to make room for this one. Where they move to
// may be memory that was freed in this call and that a view still shows; so not if the key
// or the value is a view.
func (t *Table) mayMove(k store.Key, e *store.Entry) bool {
	return !within(t.items, k.Bytes) && !within(t.items, e.Value)
}

// commit counts a Put of the item at a place, whose version is the next.
func (t *Table) commit(p place) (uint64, error) {
	t.last++
	t.added(p)
	t.stats.Puts++
	return t.last, nil
}

func (t *Table) refuse() (uint64, error) {
	t.stats.Refused++
	return 0, store.ErrFull
}

// shortKey is the length up to which a key is copied aside without ado.
const shortKey = 128

// fill writes an item into a block that was taken, and cuts the rest off. If this call has
// freed memory, the block may be where the key is, and the value that comes first would
// overwrite it: then the key is copied aside.
func (t *Table) fill(off uint64, k store.Key, e *store.Entry, need uint64, freed bool) {
	switch {
	case !freed:
		t.writeBlock(off, k, e, 0, t.last+1)
	case len(k.Bytes) <= shortKey:
		var aside [shortKey]byte
		k.Bytes = aside[:copy(aside[:], k.Bytes)]
		t.writeBlock(off, k, e, 0, t.last+1)
	default:
		t.fillLong(off, k, e)
	}
	t.space.Trim(off, need)
	t.space.MoveHand(off, t.space.Next(off))
}

// fillLong copies a long key aside, to the stack: 64 KiB of it are not needed otherwise.
//
//go:noinline
func (t *Table) fillLong(off uint64, k store.Key, e *store.Entry) {
	var aside [store.MaxKey]byte
	k.Bytes = aside[:copy(aside[:], k.Bytes)]
	t.writeBlock(off, k, e, 0, t.last+1)
}
