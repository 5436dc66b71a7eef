package hopscotch

import (
	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/internal/fence"
)

// The sweep makes memory of one piece: blocks that follow each other become one, from the
// hand on. A free block is just added. What is in the others must go: it is moved to a
// free block elsewhere, or evicted.
//
// While it grows, the piece is a block in use that nothing leads to, so that what is freed
// meanwhile does not join it and nothing is moved into it.

// isItem says whether there is an item at off.
func (t *Table) isItem(off uint64) bool { return t.space.Kind(off) == extent.Taken }

// hand returns the block at which a sweep goes on: the first one after the last.
func (t *Table) hand() uint64 {
	if t.space.Hand() == t.space.End() {
		t.space.SetHand(t.space.First())
	}
	return t.space.Hand()
}

// sweep makes a block of need bytes and takes it. It returns 0 if something was in the way
// that had to stay, or the end of the memory; then the hand is behind that. In a cache
// nothing has to stay.
func (t *Table) sweep(need uint64, now int64, move bool) uint64 {
	s := &t.space
	if s.End()-t.hand() < need {
		s.SetHand(s.First())
	}
	piece := t.hand()
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
	if !t.isItem(block) {
		t.space.Claim(block)
		return true
	}
	p := t.locate(block)
	switch {
	case t.caches() && move && t.rescue(p):
	case t.caches(), t.block(block).expired(now):
		t.countLoss(p, now)
		t.unlink(p)
		if !p.inChain() {
			t.draw(p.slot)
		}
	default:
		return move && t.moveItem(p)
	}
	return true
}

// rescue moves an item that has credit, for a part of that, and says whether it could.
func (t *Table) rescue(p place) bool {
	credit := t.label(p.slot).credit()
	if credit == 0 || !t.moveItem(p) {
		return false
	}
	t.setCredit(p.slot, credit-1)
	t.stats.Rescued++
	return true
}

// moveItem moves an item to another block, and says whether there was one.
func (t *Table) moveItem(p place) bool {
	size := extent.RoundUp(atBody + t.block(p.off).size())
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	fence.CopyOut(t.items[to+atSum:to+size], t.items[p.off+atSum:p.off+size])
	t.space.Trim(to, size)
	t.relead(p, to, t.nextOf(p))
	return true
}
