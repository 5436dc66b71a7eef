package hopscotch

// Chains exist in Store mode only: items that found no slot, linked from the slot of their home.

// maxChain is how many items a chain may have (S8).
const maxChain = 16

// setChain sets the link that points to a place in a chain.
func (t *Table) setChain(p place, to link) {
	if p.prev != 0 {
		t.setNext(p.prev, to)
		return
	}
	t.setSlotWord(p.home, atChain, uint64(to))
}

// push puts the item at off in front of the chain of a home, and reports whether there was
// room. In a full chain it first drops an expired item.
func (t *Table) push(h, off uint64, now int64) bool {
	if t.chainLength(h) >= maxChain && (t.heap.Mortal == 0 || !t.expireChain(h, now)) {
		return false
	}
	if first := t.chain(h); first != 0 {
		t.setNext(off, first)
	}
	t.setSlotWord(h, atChain, uint64(t.linkTo(off)))
	return true
}

func (t *Table) chainLength(h uint64) int {
	n := 0
	for l := t.chain(h); l != 0; l = t.next(l.offset()) {
		n++
	}
	return n
}

// expireChain drops one expired item of a chain, and reports whether there was one.
func (t *Table) expireChain(h uint64, now int64) bool {
	prev := uint64(0)
	for l := t.chain(h); l != 0; l = t.next(prev) {
		if t.block(l.offset()).Expired(now) {
			t.heap.Stats.Expired++
			t.drop(place{h, none, prev, l.offset()})
			return true
		}
		prev = l.offset()
	}
	return false
}
