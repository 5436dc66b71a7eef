package hopscotch

import (
	"fmt"

	"github.com/remora-kv/remora/store/internal/extent"
)

// none is not a slot.
const none = ^uint64(0)

// place is where an item was found. In a slot: inline if off is 0. In the chain of its
// home: behind the item at prev, or first if prev is 0.
type place struct {
	home, slot uint64
	prev, off  uint64
}

var nowhere = place{slot: none}

func (p place) isFound() bool { return p.slot != none || p.off != 0 }
func (p place) inChain() bool { return p.slot == none }

// record returns the item at a place.
func (t *Table) record(p place) extent.Record {
	if p.off == 0 {
		return t.inline(p.slot)
	}
	return t.block(p.off)
}

// find looks for a key.
func (t *Table) find(hash uint64, key []byte) place {
	h := t.homeOf(hash)
	w, tag := t.home(h), tagOf(hash)
	for i := range uint64(reach) {
		if !w.holds(i) {
			continue
		}
		l := t.lead(h + i)
		if p := (place{home: h, slot: h + i, off: l.offset()}); l.tag() == tag && t.record(p).IsKey(key) {
			return p
		}
	}
	prev := uint64(0)
	for l := t.chain(h); l != 0; {
		off := l.offset()
		if t.block(off).IsKey(key) {
			return place{h, none, prev, off}
		}
		prev, l = off, t.next(off)
	}
	return nowhere
}

// live is find, except that it drops the item if it has expired.
func (t *Table) live(hash uint64, key []byte, now int64) place {
	p := t.find(hash, key)
	if p.isFound() && t.record(p).Expired(now) {
		t.heap.Stats.Expired++
		t.drop(p)
		return nowhere
	}
	return p
}

// locate returns the place of the item at off, which must be in the index.
func (t *Table) locate(off uint64) place {
	h := t.homeOf(t.block(off).Hash())
	w := t.home(h)
	for i := range uint64(reach) {
		if w.holds(i) && t.lead(h+i).offset() == off {
			return place{home: h, slot: h + i, off: off}
		}
	}
	prev := uint64(0)
	for l := t.chain(h); l != 0; l = t.next(prev) {
		if l.offset() == off {
			return place{h, none, prev, off}
		}
		prev = l.offset()
	}
	panic(fmt.Sprintf("hopscotch: no slot or chain points to the item at %d: the memory is corrupt", off))
}

// at returns the place of the item in slot i.
func (t *Table) at(i uint64) place {
	return place{home: t.homeAt(i), slot: i, off: t.lead(i).offset()}
}

// relead makes the place of an old item hold the item at off. If the place is in a chain,
// next is the item behind it.
func (t *Table) relead(p place, off uint64, next link) {
	r := t.block(off)
	if !p.inChain() {
		t.occupy(p.home, p.slot, off, r.Hash(), r.Version())
		return
	}
	if t.next(off) != next {
		t.setNext(off, next)
	}
	t.setChain(p, t.linkTo(off))
}

// nextOf returns the link to the item behind a place in its chain, 0 for a slot.
func (t *Table) nextOf(p place) link {
	if !p.inChain() {
		return 0
	}
	return t.next(p.off)
}

// unlink removes an item from the index and the counts. The caller frees its block.
func (t *Table) unlink(p place) {
	t.count(p, -1)
	if p.inChain() {
		t.setChain(p, t.next(p.off))
		return
	}
	t.vacate(p.home, p.slot)
}

// drop unlinks an item and frees its block, if it has one.
func (t *Table) drop(p place) {
	t.unlink(p)
	if p.off != 0 {
		t.heap.Give(p.off)
	}
}
