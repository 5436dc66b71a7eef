package lru8

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
		if t.space.free < need {
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
		if s.hand == s.end {
			s.hand = s.first
		}
		off := s.hand
		if s.head(off).kind() == kindItem && t.expired(off, now) {
			t.stats.Expired++
			t.unlink(t.locate(off))
			off = s.give(off)
		}
		if s.head(off).kind() == kindFree && s.size(off) >= need {
			s.claim(off)
			return off
		}
		s.hand = s.next(off)
	}
	return 0
}
