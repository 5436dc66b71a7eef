package lru8

import "math/bits"

// bins is the number of lists of free blocks: one for each length below 16
// units, and above that 8 for each power of two.
const bins = 16 + 24*8

// space is item memory: a segregated-fit allocator over blocks that know their
// neighbours.
//
// It writes into the first 24 bytes of blocks only (L5), which are not part of a
// key or a value: what was freed can still be read until the memory is cut anew
// by trim, or written by its new owner.
type space struct {
	mem   []byte
	first uint64 // the first block
	end   uint64 // the end block
	hand  uint64 // the block at which a sweep goes on
	free  uint64 // bytes in free blocks
	heads [bins]uint64
	full  [(bins + 63) / 64]uint64 // a bit for each bin that is not empty
}

// init makes the memory, zeroed and at least 2*unit + minBlock, one free block,
// or several where one would be too long for the length field.
func (s *space) init(mem []byte) {
	s.mem = mem
	s.first, s.end = unit, uint64(len(mem))&^(unit-1)-unit
	prevSize := uint64(0)
	for off := s.first; off < s.end; {
		size := min(s.end-off, maxJoin)
		s.setHead(off, newHead(kindFree, size, prevSize))
		s.push(off)
		off, prevSize = off+size, size
	}
	s.setHead(s.end, newHead(kindEnd, 0, prevSize))
	s.hand, s.free = s.first, s.end-s.first
}

// largest is the length of the longest block there can be.
func (s *space) largest() uint64 { return min(s.end-s.first, maxJoin) }

// binOf returns the bin of free blocks of a length.
func binOf(size uint64) int {
	units := size / unit
	if units < 16 {
		return int(units)
	}
	power := bits.Len64(units) - 1
	return 16 + (power-4)*8 + int(units>>(power-3)&7)
}

// binFor returns the first bin in which every block has at least this length.
func binFor(size uint64) int {
	units := size / unit
	if units < 16 {
		return int(units)
	}
	step := uint64(1) << (bits.Len64(units) - 1 - 3)
	return binOf((units + step - 1) * unit)
}

// push puts a free block at the front of its list.
func (s *space) push(off uint64) {
	bin := binOf(s.size(off))
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
func (s *space) pull(off uint64) {
	next, prev := s.link(off, nextLink), s.link(off, prevLink)
	if next != 0 {
		s.setLink(next, prevLink, prev)
	}
	if prev != 0 {
		s.setLink(prev, nextLink, next)
		return
	}
	bin := binOf(s.size(off))
	if s.heads[bin] = next; next == 0 {
		s.full[bin/64] &^= 1 << (bin % 64)
	}
}

// take returns a block of at least size bytes, a multiple of unit, or 0. The
// block may be longer: the caller fills it and calls trim.
func (s *space) take(size uint64) uint64 {
	off := s.anyFrom(binFor(size))
	if off == 0 {
		off = s.oneOf(binOf(size), size)
	}
	if off != 0 {
		s.claim(off)
	}
	return off
}

// claim makes a free block an item.
func (s *space) claim(off uint64) {
	s.pull(off)
	s.free -= s.size(off)
	s.setKind(off, kindItem)
}

// anyFrom returns the first block of the first bin from bin on that is not
// empty, or 0.
func (s *space) anyFrom(bin int) uint64 {
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

// looks is how many blocks of a bin are tried whose lengths differ.
const looks = 8

// oneOf returns one of the first blocks of a bin that is long enough, or 0.
func (s *space) oneOf(bin int, size uint64) uint64 {
	off := s.heads[bin]
	for range looks {
		if off == 0 || s.size(off) >= size {
			return off
		}
		off = s.link(off, nextLink)
	}
	return 0
}

// trim cuts what is over size off a block and frees it.
func (s *space) trim(off, size uint64) {
	h := s.head(off)
	rest := h.size() - size
	if rest < minBlock {
		return
	}
	s.setHead(off, newHead(h.kind(), size, h.prevSize()))
	s.setHead(off+size, newHead(kindItem, rest, size))
	s.setPrevSize(off+size+rest, rest)
	s.give(off + size)
}

// give frees a block, joins it with free neighbours, and returns the block that
// they have become. The hand stays at the beginning of a block.
func (s *space) give(off uint64) uint64 {
	h := s.head(off)
	size, prevSize := h.size(), h.prevSize()
	s.free += size
	if next := off + size; s.joins(next, size) {
		s.pull(next)
		size += s.size(next)
		s.moveHand(next, off)
	}
	if prev := off - prevSize; prevSize != 0 && s.joins(prev, size) {
		s.pull(prev)
		size += prevSize
		prevSize = s.head(prev).prevSize()
		s.moveHand(off, prev)
		off = prev
	}
	s.setHead(off, newHead(kindFree, size, prevSize))
	s.setPrevSize(off+size, size)
	s.push(off)
	return off
}

// joins says whether the block at off is free and can be joined with size bytes.
func (s *space) joins(off, size uint64) bool {
	h := s.head(off)
	return h.kind() == kindFree && h.size()+size <= maxJoin
}

func (s *space) moveHand(from, to uint64) {
	if s.hand == from {
		s.hand = to
	}
}

// around returns how long a block would become if it were freed.
func (s *space) around(off uint64) uint64 {
	h := s.head(off)
	size := h.size()
	if next := off + size; s.joins(next, size) {
		size += s.size(next)
	}
	if prev := off - h.prevSize(); h.prevSize() != 0 && s.joins(prev, size) {
		size += h.prevSize()
	}
	return size
}

// absorb makes the block behind a block in use a part of it. It must be in use
// too, and both must be at most maxJoin long.
func (s *space) absorb(off, next uint64) {
	h := s.head(off)
	size := h.size() + s.size(next)
	s.setHead(off, newHead(h.kind(), size, h.prevSize()))
	s.setPrevSize(off+size, size)
	s.moveHand(next, off)
}
