package lru8

// The sweep makes memory of one piece: blocks that follow each other become one,
// from the hand on. A free block is just added. What is in the others must go: it
// is moved to a free block elsewhere, or evicted.
//
// While it grows, the piece is a block in use that nothing leads to, so that what
// is freed meanwhile does not join it and nothing is moved into it.

// sweep makes a block of need bytes and takes it. It returns 0 if something was
// in the way that had to stay, or the end of the memory; then the hand is behind
// that. In a cache nothing has to stay, and it does not fail.
func (t *Table) sweep(need uint64, now int64, move bool) uint64 {
	s := &t.space
	if s.end-s.hand < need {
		s.hand = s.first
	}
	piece := s.hand
	if !t.clear(piece, now, move) {
		s.hand = s.next(piece)
		return 0
	}
	for s.size(piece) < need {
		next := s.next(piece)
		if next == s.end {
			s.hand = s.first
			s.give(piece)
			return 0
		}
		if !t.clear(next, now, move) {
			s.hand = s.next(next)
			s.give(piece)
			return 0
		}
		s.absorb(piece, next)
	}
	s.hand = piece
	return piece
}

// clear makes a block one in use that nothing leads to, and says whether it could.
func (t *Table) clear(block uint64, now int64, move bool) bool {
	switch t.space.head(block).kind() {
	case kindFree:
		t.space.claim(block)
		return true
	case kindChain:
		return move && t.moveChain(block)
	case kindItem, kindNone, kindEnd:
	}
	p := t.locate(block)
	switch {
	case t.caches() && p.b.slot(p.i).isUsed() && move && t.moveItem(p):
		t.stats.Rescued++
	case t.caches():
		t.evict(p, now)
	case t.expired(block, now):
		t.stats.Expired++
		t.unlink(p)
	default:
		return move && t.moveItem(p)
	}
	return true
}

// moveItem moves an item to another block, and says whether there was one. It is
// not marked as used any more.
func (t *Table) moveItem(p place) bool {
	size := roundUp(atKey + t.keySize(p.off) + t.valueSize(p.off))
	to := t.space.take(size)
	if to == 0 {
		return false
	}
	copy(t.space.mem[to+8:to+size], t.space.mem[p.off+8:])
	t.space.trim(to, size)
	p.b.setSlot(p.i, slotFor(to, t.hash(to)))
	return true
}

// moveChain moves an overflow bucket, and says whether there was a block for it.
func (t *Table) moveChain(off uint64) bool {
	to := t.takeChain()
	if to == 0 {
		return false
	}
	t.chainBytes -= int64(t.space.size(off))
	b := t.chained(linkTo(to))
	copy(b, t.chained(linkTo(off)))
	before := t.bucketAt(t.bucketOf(t.hash(b.slot(0).offset())))
	for before.slot(slots-1) != linkTo(off) {
		before = t.chained(before.slot(slots - 1))
	}
	before.setSlot(slots-1, linkTo(to))
	t.space.setKind(off, kindItem)
	return true
}
