package kvl

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Link locates a record. The zero Link leads nowhere.
type Link struct {
	where  uint64 // offset / 8, area << areaShift
	length uint32
	stamp  uint32 // low bits of the generation
}

const (
	// LinkSize is the length of a link in a record.
	LinkSize = 16

	areaShift = 40
	// MaxAreas is the largest number of areas of an image.
	MaxAreas = 1 << 24
	// MaxArea is the length of the longest area.
	MaxArea = 1 << 43
)

// ErrCorrupt reports bytes that are not a valid record, or not the record at the link.
var ErrCorrupt = errors.New("kvl: corrupt")

// NewLink returns the link to a record.
func NewLink(area int, off int64, length int, generation uint64) Link {
	return Link{where: uint64(area)<<areaShift | uint64(off)/8, length: uint32(length), stamp: uint32(generation)}
}

// IsZero reports whether a link leads nowhere.
func (l Link) IsZero() bool { return l.length == 0 }

// Area returns the number of the area.
func (l Link) Area() int { return int(l.where >> areaShift) }

// Word returns the offset in units of 8 bytes.
func (l Link) Word() uint64 { return l.where & (1<<areaShift - 1) }

// Offset returns the offset of the record in its area.
func (l Link) Offset() int64 { return int64(l.Word()) * 8 }

// Len returns the length of the record.
func (l Link) Len() int { return int(l.length) }

// Of reports whether a link may be of a generation: it compares the low bits. ParseItem compares all.
func (l Link) Of(generation uint64) bool { return l.stamp == uint32(generation) }

// Stamp returns the low bits of the generation that the link is of.
func (l Link) Stamp() uint32 { return l.stamp }

// Put writes the link into the first LinkSize bytes of b.
func (l Link) Put(b []byte) {
	binary.LittleEndian.PutUint64(b, l.where)
	binary.LittleEndian.PutUint64(b[8:LinkSize], uint64(l.length)|uint64(l.stamp)<<32)
}

// ParseLink decodes the first LinkSize bytes of b, which may be any bytes.
func ParseLink(b []byte) Link {
	w := binary.LittleEndian.Uint64(b[8:LinkSize])
	return Link{where: binary.LittleEndian.Uint64(b), length: uint32(w), stamp: uint32(w >> 32)}
}

// String returns the fields of the link for messages.
func (l Link) String() string {
	if l.IsZero() {
		return "nowhere"
	}
	return fmt.Sprintf("%d:%d+%d@%d", l.Area(), l.Offset(), l.Len(), l.stamp)
}
