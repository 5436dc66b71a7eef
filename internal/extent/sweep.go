package extent

// Items is how a Space empties blocks: what it asks of the table whose items are in them.
type Items struct {
	// Expire takes the item of a block in use out of the index if it has expired, and
	// reports whether it did. The block stays in use.
	Expire func(block uint64, now int64) bool
	// Clear takes what is in a block in use out of the index, or moves it to another
	// block if it may, and reports whether it could: a cache always can. The block stays
	// in use.
	Clear func(block uint64, now int64, move bool) bool
	// Spare reports whether the item of a block in use was used since it was written or
	// spared. It asks for caches only.
	Spare func(block uint64) bool
}

const (
	// expiryBlocks is how many blocks Reclaim looks at for items that have expired.
	expiryBlocks = 64
	// sweeps is how many places Reclaim tries to clear.
	sweeps = 16
	// spares is how many used items in a row Evict passes.
	spares = 16
)

// Evict clears blocks until there is a block of need bytes, at most Largest, and takes it.
// It spares items that were used: it passes those that follow the hand, and moves those in
// the way if it may. It cannot fail, since all of the memory could become one block.
func (s *Space) Evict(need uint64, now int64, move bool) uint64 {
	for range spares {
		at := s.wrap()
		if s.Kind(at) == Free || !s.items.Spare(at) {
			break
		}
		s.hand = s.Next(at)
	}
	return s.sweep(need, now, move)
}

// Reclaim makes a block of need bytes without losing an item, and takes it: where items
// have expired, if mortal says that some can, or where others can be moved away, if they
// may be. It returns 0 if it finds none.
func (s *Space) Reclaim(need uint64, now int64, mortal, move bool) uint64 {
	if mortal {
		if off := s.expire(need, now); off != 0 {
			return off
		}
	}
	if !move {
		return 0
	}
	for range sweeps {
		if s.free < need {
			return 0
		}
		if off := s.sweep(need, now, move); off != 0 {
			return off
		}
	}
	return 0
}

// wrap returns the block at the hand, which goes back to the first one from the end.
func (s *Space) wrap() uint64 {
	if s.hand == s.end {
		s.hand = s.first
	}
	return s.hand
}

// expire frees the items among the next blocks that have expired, until a block of need
// bytes is there, and takes it.
func (s *Space) expire(need uint64, now int64) uint64 {
	for range expiryBlocks {
		off := s.wrap()
		if s.Kind(off) != Free && s.items.Expire(off, now) {
			off = s.Give(off)
		}
		if s.Kind(off) == Free && s.Size(off) >= need {
			s.Claim(off)
			return off
		}
		s.hand = s.Next(off)
	}
	return 0
}

// sweep joins the blocks that follow the hand until they have need bytes, and takes the
// block that they have become. It returns 0 if it came to an item that had to stay, or to
// the end of the memory; then the hand is behind that.
//
// While the block grows it is in use and nothing leads to it, so that what is freed
// meanwhile does not join it and nothing is moved into it.
func (s *Space) sweep(need uint64, now int64, move bool) uint64 {
	if s.end-s.hand < need {
		s.hand = s.first
	}
	piece := s.hand
	if !s.clear(piece, now, move) {
		s.hand = s.Next(piece)
		return 0
	}
	for s.Size(piece) < need {
		next := s.Next(piece)
		if next == s.end {
			s.hand = s.first
			s.Give(piece)
			return 0
		}
		if !s.clear(next, now, move) {
			s.hand = s.Next(next)
			s.Give(piece)
			return 0
		}
		s.Absorb(piece, next)
	}
	s.hand = piece
	return piece
}

// clear makes a block one in use that nothing leads to, and reports whether it could.
func (s *Space) clear(block uint64, now int64, move bool) bool {
	switch s.Kind(block) {
	case Free:
		s.Claim(block)
		return true
	case Taken:
		return s.items.Clear(block, now, move)
	default:
	}
	if !s.items.Clear(block, now, move) {
		return false
	}
	s.SetKind(block, Taken)
	return true
}
