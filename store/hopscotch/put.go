package hopscotch

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Put stores e under the key if the condition is met.
//
// Key and value may be views of items that this call frees, moves or overwrites (S5).
// Views of slots are short, and are copied before a slot is written. Freeing a block does
// not harm a view (X2 of extent), no block is moved to where a view may be (MakeRoom of
// extent), and Fill copies both before it trims a block.
func (t *Table) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > t.heap.Config.MaxValue {
		return 0, store.ErrTooLarge
	}
	p := t.live(k.Hash, k.Bytes, now)
	if err := c.Met(t.versionAt(p)); err != nil {
		return 0, err
	}
	if t.heap.Last == store.MaxVersion {
		return t.heap.Refuse()
	}
	if t.fitsInline(len(k.Bytes), len(e.Value)) && (p.off == 0 || !p.inChain()) {
		return t.putInline(p, k, &e, now)
	}
	var keyAside, valueAside [Inline]byte
	k.Bytes = t.settle(&keyAside, k.Bytes)
	e.Value = t.settle(&valueAside, e.Value)
	return t.putBlock(p, k, &e, now)
}

// settle returns b, or a copy of it if it is a view of a slot.
func (t *Table) settle(aside *[Inline]byte, b []byte) []byte {
	if extent.Within(t.slots, b) {
		return aside[:copy(aside[:], b)]
	}
	return b
}

// putInline stores an item that fits a slot. If there is no slot for it, putBlock stores
// it.
func (t *Table) putInline(p place, k store.Key, e *store.Entry, now int64) (uint64, error) {
	var m image
	m.compose(k, e, t.heap.Last+1)
	if p.isFound() {
		t.count(p, -1)
		t.enterInline(p.home, p.slot, k.Hash, &m)
		if p.off != 0 {
			t.heap.Give(p.off)
		}
		return t.commit(place{slot: p.slot})
	}
	h := t.homeOf(k.Hash)
	if i := t.vacant(h, now); i != none {
		t.enterInline(h, i, k.Hash, &m)
		return t.commit(place{slot: i})
	}
	r, kept := m.record(), *e
	k.Bytes, kept.Value = r.Key(), r.Value()
	return t.putBlock(p, k, &kept, now)
}

func (t *Table) enterInline(h, i, hash uint64, m *image) {
	t.writeInline(i, m)
	t.occupy(h, i, 0, hash, m.record().Version())
}

// putBlock stores an item in a block.
func (t *Table) putBlock(p place, k store.Key, e *store.Entry, now int64) (uint64, error) {
	need := blockSize(len(k.Bytes), len(e.Value))
	switch {
	case need > t.heap.Largest():
		return t.heap.Refuse()
	case !p.isFound():
		return t.insert(k, e, need, now)
	case p.off != 0 && t.heap.Size(p.off) >= need:
		return t.rewrite(p, k, e, need)
	}
	return t.replace(p, k, e, need, now)
}

// rewrite puts the value into the block of the old item, which is long enough and has the
// same key.
func (t *Table) rewrite(p place, k store.Key, e *store.Entry, need uint64) (uint64, error) {
	t.count(p, -1)
	next := t.next(p.off)
	t.heap.Write(p.off+atKey+uint64(len(k.Bytes)), e.Value)
	t.heap.SetHeader(p.off+atBody, k, e)
	t.setNext(p.off, next)
	t.heap.Trim(p.off, need)
	t.relead(p, p.off, next)
	return t.commit(p)
}

// replace puts the item into another block, or into the old block joined with its free
// neighbours.
func (t *Table) replace(p place, k store.Key, e *store.Entry, need uint64, now int64) (uint64, error) {
	if off := t.heap.Take(need); off != 0 {
		t.fill(off, k, e)
		return t.exchange(p, off)
	}
	if p.off != 0 && t.heap.Around(p.off) >= need {
		t.count(p, -1)
		next := t.nextOf(p)
		off := t.heap.Give(p.off)
		t.heap.Claim(off)
		t.fill(off, k, e)
		t.relead(p, off, next)
		return t.commit(place{slot: p.slot, off: off})
	}
	if t.heap.Caches() {
		t.drop(p)
		return t.insert(k, e, need, now)
	}
	off := t.makeRoom(need, now, k.Bytes, e.Value)
	if off == 0 {
		return t.heap.Refuse()
	}
	t.fill(off, k, e)
	return t.exchange(t.find(k.Hash, t.block(off).Key()), off) // the old item may have been moved
}

// exchange makes a place point to another block, and frees the old one.
func (t *Table) exchange(p place, off uint64) (uint64, error) {
	t.count(p, -1)
	t.relead(p, off, t.nextOf(p))
	if p.off != 0 {
		t.heap.Give(p.off)
	}
	return t.commit(place{slot: p.slot, off: off})
}

// insert stores an item whose key does not exist.
func (t *Table) insert(k store.Key, e *store.Entry, need uint64, now int64) (uint64, error) {
	off := t.heap.Take(need)
	if off == 0 {
		off = t.makeRoom(need, now, k.Bytes, e.Value)
	}
	if off == 0 {
		return t.heap.Refuse()
	}
	t.fill(off, k, e)
	h := t.homeOf(k.Hash)
	if i := t.vacant(h, now); i != none {
		t.occupy(h, i, off, k.Hash, t.heap.Last+1)
		return t.commit(place{slot: i, off: off})
	}
	if !t.push(h, off, now) {
		t.heap.Give(off)
		return t.heap.Refuse()
	}
	return t.commit(place{slot: none, off: off})
}

// commit completes a Put of the item at a place.
func (t *Table) commit(p place) (uint64, error) {
	if p.off == 0 {
		t.inlines++
	}
	return t.heap.Commit(t.record(p))
}
