package lru8

import "github.com/remora-kv/remora/internal/extent"

// What a store does before it refuses an item.
const (
	// expiryBlocks is how many blocks it looks at for items that have expired.
	expiryBlocks = 64
	// sweeps is how many places it tries to clear.
	sweeps = 16
)

// reclaim finds need bytes in one piece and takes them: where items have expired,
// or where others can be moved away. It returns 0 if there is none.
func (t *Table) reclaim(need uint64, now int64, move bool) uint64 {
	if off := t.expire(need, now); off != 0 {
		return off
	}
	if !move {
		return 0
	}
	for range sweeps {
		if t.space.Free() < need {
			return 0
		}
		if off := t.sweep(need, now, move); off != 0 {
			return off
		}
	}
	return 0
}

// expire frees the items among the next blocks that have expired, until a block
// of need bytes is there, and takes it.
func (t *Table) expire(need uint64, now int64) uint64 {
	s := &t.space
	if t.mortal == 0 {
		return 0
	}
	for range expiryBlocks {
		if s.Hand() == s.End() {
			s.SetHand(s.First())
		}
		off := s.Hand()
		if s.Kind(off) == kindItem && t.expired(off, now) {
			t.stats.Expired++
			t.unlink(t.locate(off))
			off = s.Give(off)
		}
		if s.Kind(off) == extent.Free && s.Size(off) >= need {
			s.Claim(off)
			return off
		}
		s.SetHand(s.Next(off))
	}
	return 0
}
