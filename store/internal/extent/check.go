package extent

import "fmt"

// Check verifies X1 and X4: it reads the heads of all blocks and the lists of free ones. It
// calls visit for every block in use, and returns its error.
func (s *Space) Check(visit func(off uint64, k Kind) error) error {
	frees, err := s.checkBlocks(visit)
	if err != nil {
		return err
	}
	listed, err := s.checkLists(frees)
	if err != nil {
		return err
	}
	if listed != frees {
		return fmt.Errorf("%d free blocks, %d of them listed in bins", frees, listed)
	}
	return nil
}

// checkBlocks visits all blocks in order, and returns the number of free ones.
func (s *Space) checkBlocks(visit func(off uint64, k Kind) error) (frees int, err error) {
	off, prevSize, prevKind, handFound, free := s.first, uint64(0), None, s.hand == s.end, uint64(0)
	for off < s.end {
		h := s.head(off)
		switch {
		case h.size() < MinBlock || h.size() > s.end-off || h.prevSize() != prevSize:
			return 0, fmt.Errorf("block at %d: head %#x, in %d bytes behind a block of %d bytes", off, uint64(h), s.end-off, prevSize)
		case h.kind() == None || h.kind() == End:
			return 0, fmt.Errorf("block at %d: invalid kind", off)
		case h.kind() != Free:
			if err := visit(off, h.kind()); err != nil {
				return 0, err
			}
		case prevKind == Free && h.size()+prevSize <= MaxJoin:
			return 0, fmt.Errorf("free blocks before and at %d: they should have been joined", off)
		default:
			frees++
			free += h.size()
		}
		handFound = handFound || off == s.hand
		off, prevSize, prevKind = off+h.size(), h.size(), h.kind()
	}
	switch h := s.head(s.end); {
	case h != newHead(End, 0, prevSize):
		return 0, fmt.Errorf("end at %d: head %#x", s.end, uint64(h))
	case !handFound:
		return 0, fmt.Errorf("the hand at %d is not at the beginning of a block", s.hand)
	case free != s.free:
		return 0, fmt.Errorf("%d bytes are free, but the counter says %d", free, s.free)
	}
	return frees, nil
}

// checkLists walks the lists of free blocks, and returns their total length.
func (s *Space) checkLists(frees int) (listed int, err error) {
	for bin, off := range s.heads {
		if (off != 0) != (s.full[bin/64]>>(bin%64)&1 != 0) {
			return 0, fmt.Errorf("bin %d: the bit that marks it as not empty is wrong", bin)
		}
		for prev := uint64(0); off != 0; off = s.link(off, nextLink) {
			if off < s.first || off >= s.end || off%Unit != 0 {
				return 0, fmt.Errorf("bin %d points to %d, where no block can be", bin, off)
			}
			h := s.head(off)
			if h.kind() != Free || binOf(h.size()) != bin || s.link(off, prevLink) != prev {
				return 0, fmt.Errorf("bin %d points to %d, head %#x: wrong kind, length or back link", bin, off, uint64(h))
			}
			if listed++; listed > frees {
				return 0, fmt.Errorf("the bins list more free blocks than the %d that exist", frees)
			}
			prev = off
		}
	}
	return listed, nil
}
