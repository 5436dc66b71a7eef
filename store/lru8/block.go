package lru8

import "encoding/binary"

// Item memory is cut into blocks (see the package doc for the layout).
const (
	unit     = 16         // blocks begin and end at multiples of it
	minBlock = 2 * unit   // a free block holds a head and two links
	maxUnits = 1<<28 - 1  // what the length field holds
	maxJoin  = unit << 27 // free blocks are not joined to longer ones
)

// kind says what a block is for.
type kind uint32

const (
	kindNone kind = iota // no block has it
	kindFree
	kindItem
	kindChain // an overflow bucket
	kindEnd   // behind the last block
)

const kindMask = 1<<4 - 1

// head is the first word of a block.
type head uint64

func newHead(k kind, size, prevSize uint64) head {
	return head(uint64(k) | size/unit<<4 | prevSize/unit<<32)
}

func (h head) kind() kind       { return kind(h & kindMask) }
func (h head) size() uint64     { return uint64(h) >> 4 & maxUnits * unit }
func (h head) prevSize() uint64 { return uint64(h) >> 32 * unit }

// head returns the head of the block at off.
func (s *space) head(off uint64) head { return head(binary.LittleEndian.Uint64(s.mem[off:])) }

func (s *space) setHead(off uint64, h head) { binary.LittleEndian.PutUint64(s.mem[off:], uint64(h)) }

// size returns the length of a block.
func (s *space) size(off uint64) uint64 { return s.head(off).size() }

// next returns the block behind a block.
func (s *space) next(off uint64) uint64 { return off + s.size(off) }

// setKind changes what a block is for.
func (s *space) setKind(off uint64, k kind) {
	s.setHead(off, s.head(off)&^kindMask|head(k))
}

// setPrevSize tells a block how long the one before it is.
func (s *space) setPrevSize(off, prevSize uint64) {
	h := s.head(off)
	s.setHead(off, newHead(h.kind(), h.size(), prevSize))
}

// Links of a free block: the neighbours in the list of its bin, 0 for none.
const (
	nextLink = 8
	prevLink = 16
)

func (s *space) link(off, which uint64) uint64 {
	return binary.LittleEndian.Uint64(s.mem[off+which:])
}

func (s *space) setLink(off, which, to uint64) {
	binary.LittleEndian.PutUint64(s.mem[off+which:], to)
}

// roundUp returns n rounded up to units.
func roundUp(n uint64) uint64 { return (n + unit - 1) &^ (unit - 1) }
