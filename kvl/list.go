package kvl

import (
	"encoding/binary"
	"fmt"
	"math"
)

// List is a view of a list of links in an item that has been checked: the links that are
// in the item itself, and where the others begin. The zero List is empty.
type List struct{ b []byte }

// validList reports whether a payload is a list: whole links, not more than there are in
// all, and a chunk to go on with exactly if there are more.
func validList(p []byte) bool {
	if !hasLinks(p) {
		return false
	}
	total, here := binary.LittleEndian.Uint64(p), uint64(len(p)-listHead)/LinkSize
	return total >= here && total <= math.MaxInt && (total > here) != ParseLink(p[8:]).IsZero()
}

// hasLinks reports whether a payload has the length of a list.
func hasLinks(p []byte) bool { return len(p) >= listHead && (len(p)-listHead)%LinkSize == 0 }

// asList is the list of a payload, the zero List of one that is none any more.
func asList(p []byte) List {
	if !hasLinks(p) {
		return List{}
	}
	return List{p}
}

// Len returns how many links the list has in all, as its Builder counted them.
func (l List) Len() int {
	if l.b == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint64(l.b) & math.MaxInt)
}

// N returns how many of its links are in the item itself.
func (l List) N() int {
	if l.b == nil {
		return 0
	}
	return (len(l.b) - listHead) / LinkSize
}

// At returns one of the links in the item itself. An index that is not in [0, N) panics.
func (l List) At(i int) Link {
	mustBeIn("list", i, l.N())
	return ParseLink(l.b[listHead+i*LinkSize:])
}

// Append appends the links in the item itself to links, and returns them.
func (l List) Append(links []Link) []Link {
	if l.b == nil {
		return links
	}
	return appendLinks(links, l.b[listHead:])
}

// Next returns the link to the first chunk. It leads nowhere exactly if N is Len.
func (l List) Next() Link {
	if l.b == nil {
		return Link{}
	}
	return ParseLink(l.b[8:])
}

// Chunk is a view of the bytes of a chunk that has been checked: it is valid as long as
// they stay as they are, and its methods cannot fail (K2). The zero Chunk is empty.
type Chunk struct{ b []byte }

// ParseChunk checks bytes that were read by a link in a generation, and returns a view of them. If
// the bytes are not the chunk of the link, the error is an ErrCorrupt (K1, K2). Without an error
// ParseChunk does not allocate.
//
// The chunks of a hostile image can form a cycle. A reader that follows them counts links, and stops
// at List.Len.
func ParseChunk(b []byte, l Link, generation uint64) (Chunk, error) {
	if err := checkRecord(b, l, generation, chunkRecord); err != nil {
		return Chunk{}, err
	}
	n := int(binary.LittleEndian.Uint16(b[offCount:]))
	if n < 1 || n > ChunkLinks || len(b) != chunkHead+n*LinkSize {
		return Chunk{}, fmt.Errorf("%w: the chunk at link %v says that it has %d links", ErrCorrupt, l, n)
	}
	return Chunk{b}, nil
}

// N returns how many links the chunk has, at least 1 and at most ChunkLinks.
func (c Chunk) N() int {
	if c.b == nil {
		return 0
	}
	return (len(c.b) - chunkHead) / LinkSize
}

// At returns one of the links. An index that is not in [0, N) panics.
func (c Chunk) At(i int) Link {
	mustBeIn("chunk", i, c.N())
	return ParseLink(c.b[chunkHead+i*LinkSize:])
}

// Append appends the links of the chunk to links, and returns them.
func (c Chunk) Append(links []Link) []Link {
	if c.b == nil {
		return links
	}
	return appendLinks(links, c.b[chunkHead:])
}

// appendLinks appends all links of which b consists.
func appendLinks(links []Link, b []byte) []Link {
	for ; len(b) >= LinkSize; b = b[LinkSize:] {
		links = append(links, ParseLink(b))
	}
	return links
}

// Next returns the link to the next chunk, which leads nowhere in the last one.
func (c Chunk) Next() Link {
	if c.b == nil {
		return Link{}
	}
	return ParseLink(c.b[headerSize:])
}

func mustBeIn(what string, i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("kvl: link %d of a %s that has %d", i, what, n))
	}
}
