package cuckoo

import "github.com/remora-kv/remora/internal/fence"

// The sweep makes memory of one piece: blocks that follow each other become one, from the
// hand on. A free block is just added. What is in the others must go: it is moved to a
// free block elsewhere, reclaimed or evicted.
//
// While it grows, the piece is a block in use that nothing leads to, so that what is freed
// meanwhile does not join it and nothing is moved into it.

// evictFor evicts until there is a block of need bytes, and takes it. It cannot fail,
// since all of the memory could become one block.
func (t *Table) evictFor(need uint64, now int64, move bool) uint64 {
	t.passUsed()
	return t.sweep(need, now, move)
}

// passUsed has the hand pass items that were used.
func (t *Table) passUsed() {
	s := &t.space
	for range spares {
		if s.Hand() == s.End() {
			s.SetHand(s.First())
		}
		if !t.spare(s.Hand()) {
			return
		}
		s.SetHand(s.Next(s.Hand()))
	}
}

// sweep makes a block of need bytes and takes it. It returns 0 if something was in the
// way that had to stay, or the end of the memory; then the hand is behind that. In a cache
// nothing has to stay, and it does not fail.
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
	s := &t.space
	wasUsed := s.Kind(block) == used
	if k := s.Kind(block); k != plain && k != used {
		s.Claim(block)
		return true
	}
	p := t.locate(block)
	switch {
	case t.expired(block, now):
		t.stats.Expired++
		t.unlink(p)
	case t.caches() && wasUsed && move && t.moveItem(p):
		t.stats.Rescued++
	case t.caches():
		t.stats.Evicted++
		t.unlink(p)
	default:
		return move && t.moveItem(p)
	}
	if wasUsed {
		s.SetKind(block, plain)
	}
	return true
}

// moveItem moves an item to another block (C10), and says whether there was one. It is
// not marked as used any more.
func (t *Table) moveItem(p place) bool {
	size := t.itemSize(p.off)
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	fence.CopyOut(t.items[to+atHeadSum:to+size], t.items[p.off+atHeadSum:p.off+size])
	t.space.Trim(to, size)
	t.rename(p.bucket, t.entryFor(to))
	return true
}
