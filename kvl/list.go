package kvl

import (
	"encoding/binary"
	"fmt"
	"math"
)

// List is a view of a list of links in a parsed item: the inline links, and the link to the
// first chunk. The zero List is empty.
type List struct{ b []byte }

// validList reports whether a payload is a list: whole links, not more than the total, and a
// link to a chunk if and only if the total is larger.
func validList(p []byte) bool {
	if !hasLinks(p) {
		return false
	}
	total, here := binary.LittleEndian.Uint64(p), uint64(len(p)-listHead)/LinkSize
	return total >= here && total <= math.MaxInt && (total > here) != ParseLink(p[8:]).IsZero()
}

// hasLinks reports whether a payload has the length of a list.
func hasLinks(p []byte) bool { return len(p) >= listHead && (len(p)-listHead)%LinkSize == 0 }

// asList decodes a payload. It returns the zero List if the payload has an invalid length.
func asList(p []byte) List {
	if !hasLinks(p) {
		return List{}
	}
	return List{p}
}

// Len returns the total number of links, as the Builder counted them.
func (l List) Len() int {
	if l.b == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint64(l.b) & math.MaxInt)
}

// N returns the number of inline links.
func (l List) N() int {
	if l.b == nil {
		return 0
	}
	return (len(l.b) - listHead) / LinkSize
}

// At returns inline link i. It panics if i is not in [0, N).
func (l List) At(i int) Link {
	mustBeIn("list", i, l.N())
	return ParseLink(l.b[listHead+i*LinkSize:])
}

// Append appends the inline links to links, and returns the extended slice.
func (l List) Append(links []Link) []Link {
	if l.b == nil {
		return links
	}
	return appendLinks(links, l.b[listHead:])
}

// Next returns the link to the first chunk. It leads nowhere if N equals Len.
func (l List) Next() Link {
	if l.b == nil {
		return Link{}
	}
	return ParseLink(l.b[8:])
}

// Chunk is a view of the bytes of a parsed chunk. It is valid as long as they do not change,
// and its methods cannot fail (K2). The zero Chunk is empty.
type Chunk struct{ b []byte }

// ParseChunk verifies bytes that were read by a link in a generation, and returns a view of them. If
// the bytes are not the chunk of the link, the error is an ErrCorrupt (K1, K2). ParseChunk allocates
// only errors.
//
// The chunks of a hostile image can form a cycle. A reader that follows them must count links, and
// stop at List.Len.
func ParseChunk(b []byte, l Link, generation uint64) (Chunk, error) {
	if err := checkRecord(b, l, generation, chunkRecord); err != nil {
		return Chunk{}, err
	}
	n := int(binary.LittleEndian.Uint16(b[offCount:]))
	if n < 1 || n > ChunkLinks || len(b) != chunkHead+n*LinkSize {
		return Chunk{}, fmt.Errorf("%w: the chunk at link %v says that it has %d links, which does not match its length", ErrCorrupt, l, n)
	}
	return Chunk{b}, nil
}

// N returns the number of links of the chunk, 1 to ChunkLinks.
func (c Chunk) N() int {
	if c.b == nil {
		return 0
	}
	return (len(c.b) - chunkHead) / LinkSize
}

// At returns link i. It panics if i is not in [0, N).
func (c Chunk) At(i int) Link {
	mustBeIn("chunk", i, c.N())
	return ParseLink(c.b[chunkHead+i*LinkSize:])
}

// Append appends the links of the chunk to links, and returns the extended slice.
func (c Chunk) Append(links []Link) []Link {
	if c.b == nil {
		return links
	}
	return appendLinks(links, c.b[chunkHead:])
}

// appendLinks appends the links in b.
func appendLinks(links []Link, b []byte) []Link {
	for ; len(b) >= LinkSize; b = b[LinkSize:] {
		links = append(links, ParseLink(b))
	}
	return links
}

// Next returns the link to the next chunk. It leads nowhere in the last chunk.
func (c Chunk) Next() Link {
	if c.b == nil {
		return Link{}
	}
	return ParseLink(c.b[headerSize:])
}

func mustBeIn(what string, i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("kvl: index %d of a %s with %d links", i, what, n))
	}
}
