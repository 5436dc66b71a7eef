package extent

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
)

const (
	// Unit is what blocks begin and end at multiples of.
	Unit = 16
	// MinBlock is the length of the shortest block: a free one has a head and two links.
	MinBlock = 2 * Unit
	// Head is the length of the head of a block, where its owner writes nothing.
	Head = 8
	// Links is how far into a block a Space writes (X2).
	Links = 24
	// MaxJoin is the length of the longest block there can be.
	MaxJoin = Unit << 27

	maxUnits = 1<<28 - 1 // the largest value of the length field
)

// Kind says what a block is for. Taken and the kinds above it are in use, and what they
// mean is the owner's business.
type Kind uint32

const (
	// None is the kind of no block.
	None Kind = iota
	// Free is a block that can be taken.
	Free
	// End is behind the last block.
	End
	// Taken is the kind of a block that was just taken.
	Taken
	// LastKind is the last that an owner can set.
	LastKind = kindMask
)

const kindMask = 1<<4 - 1

// head is the first word of a block.
type head uint64

func newHead(k Kind, size, prevSize uint64) head {
	return head(uint64(k) | size/Unit<<4 | prevSize/Unit<<32)
}

func (h head) kind() Kind       { return Kind(h & kindMask) }
func (h head) size() uint64     { return uint64(h) >> 4 & maxUnits * Unit }
func (h head) prevSize() uint64 { return uint64(h) >> 32 * Unit }

// Word returns the word at a place.
func (s *Space) Word(off uint64) uint64 { return binary.NativeEndian.Uint64(s.mem[off:]) }

// SetWord writes a word (X3).
func (s *Space) SetWord(off, word uint64) { fence.Publish64(fence.Word(s.mem, int(off)), word) }

func (s *Space) head(off uint64) head { return head(s.Word(off)) }

func (s *Space) setHead(off uint64, h head) { s.SetWord(off, uint64(h)) }

// Size returns the length of a block.
func (s *Space) Size(off uint64) uint64 { return s.head(off).size() }

// Next returns the block behind a block.
func (s *Space) Next(off uint64) uint64 { return off + s.Size(off) }

// Kind returns the kind of a block.
func (s *Space) Kind(off uint64) Kind { return s.head(off).kind() }

// SetKind changes the kind of a block in use.
func (s *Space) SetKind(off uint64, k Kind) { s.setHead(off, s.head(off)&^kindMask|head(k)) }

// setPrevSize tells a block how long the one before it is.
func (s *Space) setPrevSize(off, prevSize uint64) {
	h := s.head(off)
	s.setHead(off, newHead(h.kind(), h.size(), prevSize))
}

// Links of a free block: the neighbours in the list of its bin, 0 for none.
const (
	nextLink = 8
	prevLink = 16
)

func (s *Space) link(off, which uint64) uint64 {
	return s.Word(off + which)
}

func (s *Space) setLink(off, which, to uint64) { s.SetWord(off+which, to) }

// RoundUp returns n rounded up to units.
func RoundUp(n uint64) uint64 { return (n + Unit - 1) &^ (Unit - 1) }
