package lru8

import "github.com/remora-kv/remora/internal/extent"

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
	if s.End()-s.Hand() < need {
		s.SetHand(s.First())
	}
	piece := s.Hand()
	if !t.clear(piece, now, move) {
		s.SetHand(s.Next(piece))
		return 0
	}
	for s.Size(piece) < need {
		next := s.Next(piece)
		if next == s.End() {
			s.SetHand(s.First())
			s.Give(piece)
			return 0
		}
		if !t.clear(next, now, move) {
			s.SetHand(s.Next(next))
			s.Give(piece)
			return 0
		}
		s.Absorb(piece, next)
	}
	s.SetHand(piece)
	return piece
}

// clear makes a block one in use that nothing leads to, and says whether it could.
func (t *Table) clear(block uint64, now int64, move bool) bool {
	switch t.space.Kind(block) {
	case extent.Free:
		t.space.Claim(block)
		return true
	case kindChain:
		return move && t.moveChain(block)
	default: // an item
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
	size := extent.RoundUp(atKey + t.keySize(p.off) + t.valueSize(p.off))
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	copy(t.items[to+8:to+size], t.items[p.off+8:])
	t.space.Trim(to, size)
	p.b.setSlot(p.i, slotFor(to, t.hash(to)))
	return true
}

// moveChain moves an overflow bucket, and says whether there was a block for it.
func (t *Table) moveChain(off uint64) bool {
	to := t.takeChain()
	if to == 0 {
		return false
	}
	t.chainBytes -= int64(t.space.Size(off))
	b := t.chained(linkTo(to))
	copy(b, t.chained(linkTo(off)))
	before := t.bucketAt(t.bucketOf(t.hash(b.slot(0).offset())))
	for before.slot(slots-1) != linkTo(off) {
		before = t.chained(before.slot(slots - 1))
	}
	before.setSlot(slots-1, linkTo(to))
	t.space.SetKind(off, kindItem)
	return true
}
