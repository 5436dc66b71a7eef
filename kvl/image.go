package kvl

import (
	"encoding/binary"
	"errors"
	"iter"
)

// Image holds all items of one generation, in areas, with an index of their keys. It never changes,
// and any number of goroutines may use it until Close.
type Image struct {
	generation uint64
	schema     *Schema
	areas      []Area
	bytes      [][]byte // of the areas
	index      index
	stats      Stats
}

// Generation returns the number of the image.
func (m *Image) Generation() uint64 { return m.generation }

// Schema returns the names of types and attributes.
func (m *Image) Schema() *Schema { return m.schema }

// Stats describes the image. The caller must not change the list of dangling links.
func (m *Image) Stats() Stats { return m.stats }

// Areas returns the areas of the image. A link names an area by its index in the list, which is
// empty if the image has no items. The areas belong to the image: the caller must not change the
// list or the memory, or free anything.
func (m *Image) Areas() []Area { return m.areas }

// Lookup returns the link to the item with a key, and whether there is one.
func (m *Image) Lookup(key []byte) (Link, bool) { return m.index.find(m, key) }

// Record returns the bytes at a link. It returns false if the link leads nowhere, to another
// generation, or out of the areas. It does not verify the bytes; ParseItem does.
func (m *Image) Record(l Link) ([]byte, bool) {
	if l.IsZero() || !l.Of(m.generation) || l.Area() >= len(m.bytes) {
		return nil, false
	}
	area, off := m.bytes[l.Area()], uint64(l.Offset())
	end := off + uint64(l.Len())
	if end > uint64(len(area)) {
		return nil, false
	}
	return area[off:end:end], true
}

// Item returns the item that a link leads to.
func (m *Image) Item(l Link) (Item, error) {
	b, _ := m.Record(l)
	return ParseItem(b, l, m.generation)
}

// Chunk returns the chunk that a link leads to.
func (m *Image) Chunk(l Link) (Chunk, error) {
	b, _ := m.Record(l)
	return ParseChunk(b, l, m.generation)
}

// Links yields all links of a list of an item of this image, including those in chunks. It ends at a
// corrupt chunk.
func (m *Image) Links(list List) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for i := range list.N() {
			if !yield(list.At(i)) {
				return
			}
		}
		left := list.Len() - list.N()
		for next := list.Next(); left > 0; {
			c, err := m.Chunk(next)
			if err != nil {
				return
			}
			for i := range c.N() {
				if !yield(c.At(i)) {
					return
				}
			}
			left -= c.N()
			next = c.Next()
		}
	}
}

// Items yields the links to all items in the order of their places. That is the order in which they
// were added, except for items that have areas of their own.
func (m *Image) Items() iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n, area := range m.bytes {
			for off := 0; off < len(area); {
				size := int(binary.LittleEndian.Uint32(area[off+offLength:]))
				item := recordKind(area[off+offKind]) == itemRecord
				if item && !yield(NewLink(n, int64(off), size, m.generation)) {
					return
				}
				off += size
			}
		}
	}
}

// Close frees the memory of the image, which must not be read afterwards.
func (m *Image) Close() error {
	var errs []error
	for _, a := range m.areas {
		errs = append(errs, a.Free())
	}
	m.areas, m.bytes = nil, nil
	errs = append(errs, m.index.free())
	return errors.Join(errs...)
}
