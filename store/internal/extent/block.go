package extent

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
)

const (
	// Unit divides the offset and the length of every block.
	Unit = 16
	// MinBlock is the length of the shortest block: a free one has a head and two links.
	MinBlock = 2 * Unit
	// Head is the length of the head of a block, which its owner does not write.
	Head = 8
	// Links is the number of bytes at the start of a block that a Space writes (X2).
	Links = 24
	// MaxJoin is the length of the longest block.
	MaxJoin = Unit << 27

	maxUnits = 1<<28 - 1 // the largest value of the length field
)

// Kind says what a block is used for. Blocks of kind Taken and above are in use; their
// owner defines the kinds above Taken.
type Kind uint32

const (
	// None is not the kind of any block.
	None Kind = iota
	// Free is a block that can be taken.
	Free
	// End marks the end block, behind the last one.
	End
	// Taken is the kind of a block that Take or Claim returned.
	Taken
	// LastKind is the largest kind that an owner can set.
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

// Word returns the word at an offset.
func (s *Space) Word(off uint64) uint64 { return binary.NativeEndian.Uint64(s.mem[off:]) }

// SetWord writes a word (X3).
func (s *Space) SetWord(off, word uint64) { fence.Publish64(fence.Word(s.mem, int(off)), word) }

func (s *Space) head(off uint64) head { return head(s.Word(off)) }

func (s *Space) setHead(off uint64, h head) { s.SetWord(off, uint64(h)) }

// Size returns the length of a block.
func (s *Space) Size(off uint64) uint64 { return s.head(off).size() }

// Next returns the block after a block.
func (s *Space) Next(off uint64) uint64 { return off + s.Size(off) }

// Kind returns the kind of a block.
func (s *Space) Kind(off uint64) Kind { return s.head(off).kind() }

// SetKind changes the kind of a block in use.
func (s *Space) SetKind(off uint64, k Kind) { s.setHead(off, s.head(off)&^kindMask|head(k)) }

// setPrevSize stores in a block the length of the block before it.
func (s *Space) setPrevSize(off, prevSize uint64) {
	h := s.head(off)
	s.setHead(off, newHead(h.kind(), h.size(), prevSize))
}

// Offsets of the links of a free block to its neighbours in the list of its bin; 0 is none.
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
