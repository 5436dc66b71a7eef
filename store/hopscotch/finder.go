package hopscotch

import (
	"encoding/binary"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// maxSpans is how many spans a Finder reads before it returns Ask. A neighbourhood and the
// longest chain are fewer.
const maxSpans = 32

// maxSpan is the length of the longest span: a block of the longest item, in its size class.
const maxSpan = (atKey + store.MaxKey + store.MaxValueLimit) / 8 * 9

// Finder finds an item of a table by reading its exported memory.
type Finder struct {
	layout layout
	key    store.Key
	stage  stage
	spans  int // read so far
	// From the last image of the neighbourhood: items in blocks that have the tag, of which
	// those before next were read, and the rest of the chain.
	leads [reach]pointer
	count int
	next  int
	chain link
	found extent.Record // the last one that was verified
}

var _ store.Finder = (*Finder)(nil)

// stage is the kind of span that was asked for.
type stage uint8

const (
	idle stage = iota
	inNeighbourhood
	inItem  // an item that a slot points to
	inChain // an item of the chain
)

// pointer is the offset, version and size class of an item.
type pointer struct {
	off     uint64
	version uint64
	class   uint8
}

// NewFinder makes a Finder for the table that exported this layout.
func NewFinder(layout []byte) (*Finder, error) {
	l, err := parseLayout(layout)
	if err != nil {
		return nil, err
	}
	return &Finder{layout: l}, nil
}

// Start begins with the neighbourhood of the key's home.
func (f *Finder) Start(k store.Key) store.Span {
	f.key, f.spans = k, 0
	span, _ := f.lookHome()
	return span
}

// Look examines the bytes that were read.
func (f *Finder) Look(b []byte) (store.Span, store.Outcome) {
	switch f.stage {
	case inNeighbourhood:
		return f.neighbourhood(b)
	case inItem, inChain:
		return f.item(b)
	case idle:
	}
	return f.end(store.Ask)
}

// Item returns the item that was found.
func (f *Finder) Item() (item store.Item) {
	if f.found.IsWhole() {
		f.found.Show(&item)
	}
	return item
}

// Touch returns false: uses are not counted in exported memory.
func (f *Finder) Touch() (store.Span, bool) { return store.Span{}, false }

func (f *Finder) end(o store.Outcome) (store.Span, store.Outcome) {
	f.stage = idle
	return store.Span{}, o
}

// lookHome asks for the neighbourhood.
func (f *Finder) lookHome() (store.Span, store.Outcome) {
	f.found = extent.Record{}
	if f.spans++; f.spans > maxSpans {
		return f.end(store.Ask)
	}
	f.stage = inNeighbourhood
	h := homeOf(f.key.Hash, f.layout.homes)
	return store.Span{Area: slotArea, Off: int64(h * f.layout.slotSize), Len: int(reach * f.layout.slotSize)}, store.More
}

// neighbourhood examines the slots that the home word names (H4). If a slot does not match
// the word, the slots were changed meanwhile and are read again.
func (f *Finder) neighbourhood(b []byte) (store.Span, store.Outcome) {
	size := f.layout.slotSize
	if uint64(len(b)) != reach*size {
		return f.end(store.Ask)
	}
	w := home(binary.LittleEndian.Uint64(b[atHome:]))
	f.chain = link(binary.LittleEndian.Uint64(b[atChain:]))
	f.count, f.next = 0, 0
	for i := range uint64(reach) {
		if !w.holds(i) {
			continue
		}
		slot := b[i*size : (i+1)*size]
		l, v := lead(binary.LittleEndian.Uint64(slot[atLead:])), label(binary.LittleEndian.Uint64(slot[atLabel:]))
		if l.mark() != w.mark(i) || v.mark() != w.mark(i) {
			return f.lookHome()
		}
		if l.tag() != tagOf(f.key.Hash) {
			continue
		}
		if l.offset() != 0 {
			f.leads[f.count] = pointer{l.offset(), v.version(), l.class()}
			f.count++
			continue
		}
		if !f.proveInline(slot, v.version()) {
			return f.lookHome()
		}
		if f.found.IsKey(f.key.Bytes) {
			return f.end(store.Found)
		}
	}
	return f.follow()
}

// proveInline reports whether a slot holds a valid item of a version (H5, H6).
func (f *Finder) proveInline(slot []byte, version uint64) bool {
	if len(slot) != inlineSlot {
		return false
	}
	f.found = inlineIn(slot)
	return f.found.Version() == version && f.found.IsWhole() &&
		sum(f.found, f.layout.seed, 0) == binary.LittleEndian.Uint64(slot[atInlineSum:])
}

// follow asks for the next candidate in a block, then for the chain.
func (f *Finder) follow() (store.Span, store.Outcome) {
	if f.next < f.count {
		p := f.leads[f.next]
		f.next++
		return f.lookItem(inItem, p.off, p.class)
	}
	if f.chain != 0 {
		return f.lookItem(inChain, f.chain.offset(), f.chain.class())
	}
	return f.end(store.Missing)
}

// lookItem asks for an item, without the first word of its block.
func (f *Finder) lookItem(s stage, off uint64, class uint8) (store.Span, store.Outcome) {
	if off == 0 || off > f.layout.items || f.layout.items-off < atKey {
		return f.lookHome()
	}
	size := min(classSize(class), f.layout.items-off)
	if size < atKey || size > maxSpan {
		return f.lookHome()
	}
	if f.spans++; f.spans > maxSpans {
		return f.end(store.Ask)
	}
	f.stage = s
	return store.Span{Area: itemArea, Off: int64(off + atSum), Len: int(size - atSum)}, store.More
}

// item examines an item. If it is not the expected one, the search starts over.
func (f *Finder) item(b []byte) (store.Span, store.Outcome) {
	if len(b) < atKey-atSum {
		return f.end(store.Ask)
	}
	next := link(binary.LittleEndian.Uint64(b[atLink-atSum:]))
	f.found = extent.RecordIn(b, atBody-atSum)
	if !f.isExpected() || !f.found.IsWhole() || sum(f.found, f.layout.seed, next) != binary.LittleEndian.Uint64(b) {
		return f.lookHome()
	}
	if f.found.IsKey(f.key.Bytes) {
		return f.end(store.Found)
	}
	if f.stage == inChain {
		f.chain = next
	}
	return f.follow()
}

// isExpected reports whether the item has the version of the slot or link that points to it.
func (f *Finder) isExpected() bool {
	if f.stage == inChain {
		return f.chain.isTo(f.found.Version())
	}
	return f.leads[f.next-1].version == f.found.Version()
}
