package kvl

import (
	"encoding/binary"
	"errors"
	"iter"

	"github.com/remora-kv/remora/internal/arena"
)

// Image is all items of one generation, in areas, with an index of their keys. It never
// changes, and is for any number of goroutines until Close.
type Image struct {
	generation uint64
	schema     *Schema
	blocks     []*arena.Block
	areas      [][]byte
	index      index
	stats      Stats
}

// Generation returns the number of the image.
func (m *Image) Generation() uint64 { return m.generation }

// Schema returns the names of types and attributes.
func (m *Image) Schema() *Schema { return m.schema }

// Stats returns what is in the image. The list of what dangled is not to be changed.
func (m *Image) Stats() Stats { return m.stats }

// Areas returns the blocks of memory, whose places in the list are the numbers that links
// have. They belong to the image; neither the list nor the memory is to be changed. There
// is none without items.
func (m *Image) Areas() []*arena.Block { return m.blocks }

// Lookup returns the link to the item with a key. It is false if there is none.
func (m *Image) Lookup(key []byte) (Link, bool) { return m.index.find(m, key) }

// Record returns the bytes that a link promises. It is false if the link leads nowhere, to
// another generation, or out of the areas; what is at a place that no Builder has given is
// for Parse to say.
func (m *Image) Record(l Link) ([]byte, bool) {
	if l.IsZero() || !l.Of(m.generation) || l.Area() >= len(m.areas) {
		return nil, false
	}
	area, off := m.areas[l.Area()], uint64(l.Offset())
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

// Links yields all links of a list of an item of this image, those in chunks too. It ends
// early at a chunk that is corrupt.
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

// Items yields the links to all items, in the order of their places: that in which they were
// added, but for items that have areas of their own.
func (m *Image) Items() iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n, area := range m.areas {
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

// Close gives the memory back. Nobody may read it any more.
func (m *Image) Close() error {
	var errs []error
	for _, b := range m.blocks {
		errs = append(errs, b.Free())
	}
	m.blocks, m.areas = nil, nil
	errs = append(errs, m.index.free())
	return errors.Join(errs...)
}
