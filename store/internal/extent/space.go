package extent

import "math/bits"

// bins is the number of lists of free blocks: one for each length below 16
// units, and above that 8 for each power of two.
const bins = 16 + 24*8

// Space is memory that is divided into blocks. Init must be called before other methods.
type Space struct {
	mem   []byte
	first uint64 // the first block
	end   uint64 // the end block
	hand  uint64 // the block where MakeRoom goes on (X4)
	free  uint64 // bytes in free blocks
	heads [bins]uint64
	full  [(bins + 63) / 64]uint64 // a bit for each bin that is not empty
}

// Init makes one free block of mem, or several if one would exceed MaxJoin. mem is
// zeroed and has at least 2*Unit + MinBlock bytes.
func (s *Space) Init(mem []byte) {
	s.mem = mem
	s.first, s.end = Unit, uint64(len(mem))&^(Unit-1)-Unit
	prevSize := uint64(0)
	for off := s.first; off < s.end; {
		size := min(s.end-off, MaxJoin)
		s.setHead(off, newHead(Free, size, prevSize))
		s.push(off)
		off, prevSize = off+size, size
	}
	s.setHead(s.end, newHead(End, 0, prevSize))
	s.hand, s.free = s.first, s.end-s.first
}

// Mem returns the memory.
func (s *Space) Mem() []byte { return s.mem }

// Used returns how many bytes are in blocks in use.
func (s *Space) Used() uint64 { return s.end - s.first - s.free }

// First returns the first block.
func (s *Space) First() uint64 { return s.first }

// End returns where the last block ends.
func (s *Space) End() uint64 { return s.end }

// Free returns how many bytes are in free blocks.
func (s *Space) Free() uint64 { return s.free }

// Largest returns the length of the longest block that can exist.
func (s *Space) Largest() uint64 { return min(s.end-s.first, MaxJoin) }

// binOf returns the bin of free blocks of this length.
func binOf(size uint64) int {
	units := size / Unit
	if units < 16 {
		return int(units)
	}
	power := bits.Len64(units) - 1
	return 16 + (power-4)*8 + int(units>>(power-3)&7)
}

// binFor returns the first bin in which every block has at least this length.
func binFor(size uint64) int {
	units := size / Unit
	if units < 16 {
		return int(units)
	}
	step := uint64(1) << (bits.Len64(units) - 1 - 3)
	return binOf((units + step - 1) * Unit)
}

// push puts a free block at the front of its list.
func (s *Space) push(off uint64) {
	bin := binOf(s.Size(off))
	next := s.heads[bin]
	s.setLink(off, nextLink, next)
	s.setLink(off, prevLink, 0)
	if next != 0 {
		s.setLink(next, prevLink, off)
	}
	s.heads[bin] = off
	s.full[bin/64] |= 1 << (bin % 64)
}

// pull takes a free block out of its list.
func (s *Space) pull(off uint64) {
	next, prev := s.link(off, nextLink), s.link(off, prevLink)
	if next != 0 {
		s.setLink(next, prevLink, prev)
	}
	if prev != 0 {
		s.setLink(prev, nextLink, next)
		return
	}
	bin := binOf(s.Size(off))
	if s.heads[bin] = next; next == 0 {
		s.full[bin/64] &^= 1 << (bin % 64)
	}
}

// Take returns a block of at least size bytes, a multiple of Unit, or 0. The
// block may be longer: the caller fills it and calls Trim.
func (s *Space) Take(size uint64) uint64 {
	off := s.anyFrom(binFor(size))
	if off == 0 {
		off = s.oneOf(binOf(size), size)
	}
	if off != 0 {
		s.Claim(off)
	}
	return off
}

// Claim takes a given free block.
func (s *Space) Claim(off uint64) {
	s.pull(off)
	s.free -= s.Size(off)
	s.SetKind(off, Taken)
}

// anyFrom returns the first block of the first bin, at or after bin, that is not
// empty, or 0.
func (s *Space) anyFrom(bin int) uint64 {
	if bin >= bins {
		return 0
	}
	word := bin / 64
	rest := s.full[word] >> (bin % 64) << (bin % 64)
	for rest == 0 {
		if word++; word == len(s.full) {
			return 0
		}
		rest = s.full[word]
	}
	return s.heads[word*64+bits.TrailingZeros64(rest)]
}

// looks is how many blocks oneOf tries in a bin whose blocks differ in length.
const looks = 8

// oneOf returns the first of these blocks that is long enough, or 0.
func (s *Space) oneOf(bin int, size uint64) uint64 {
	off := s.heads[bin]
	for range looks {
		if off == 0 || s.Size(off) >= size {
			return off
		}
		off = s.link(off, nextLink)
	}
	return 0
}

// Trim shortens a block to size and frees the rest.
func (s *Space) Trim(off, size uint64) {
	h := s.head(off)
	rest := h.size() - size
	if rest < MinBlock {
		return
	}
	s.setHead(off, newHead(h.kind(), size, h.prevSize()))
	s.setHead(off+size, newHead(Taken, rest, size))
	s.setPrevSize(off+size+rest, rest)
	s.Give(off + size)
}

// Give frees a block, joins it with free neighbours, and returns the resulting block.
// If the hand was inside that, it moves to its beginning.
func (s *Space) Give(off uint64) uint64 {
	h := s.head(off)
	size, prevSize := h.size(), h.prevSize()
	s.free += size
	if next := off + size; s.joins(next, size) {
		s.pull(next)
		size += s.Size(next)
		s.moveHand(next, off)
	}
	if prev := off - prevSize; prevSize != 0 && s.joins(prev, size) {
		s.pull(prev)
		size += prevSize
		prevSize = s.head(prev).prevSize()
		s.moveHand(off, prev)
		off = prev
	}
	s.setHead(off, newHead(Free, size, prevSize))
	s.setPrevSize(off+size, size)
	s.push(off)
	return off
}

// joins reports whether the block at off is free and can be joined with size bytes.
func (s *Space) joins(off, size uint64) bool {
	h := s.head(off)
	return h.kind() == Free && h.size()+size <= MaxJoin
}

// moveHand moves the hand to a block if it is at from.
func (s *Space) moveHand(from, to uint64) {
	if s.hand == from {
		s.hand = to
	}
}

// Around returns how long a block would be after Give.
func (s *Space) Around(off uint64) uint64 {
	h := s.head(off)
	size := h.size()
	if next := off + size; s.joins(next, size) {
		size += s.Size(next)
	}
	if prev := off - h.prevSize(); h.prevSize() != 0 && s.joins(prev, size) {
		size += h.prevSize()
	}
	return size
}

// Absorb joins a block with the next one. Both are in use, and together at most MaxJoin
// long.
func (s *Space) Absorb(off, next uint64) {
	h := s.head(off)
	size := h.size() + s.Size(next)
	s.setHead(off, newHead(h.kind(), size, h.prevSize()))
	s.setPrevSize(off+size, size)
	s.moveHand(next, off)
}
