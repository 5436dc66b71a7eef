package cuckoo

import (
	"encoding/binary"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// maxSpans is how many spans a Finder reads before it returns Ask.
const maxSpans = 16

// Finder finds items of a Table by READs.
type Finder struct {
	layout layout
	key    store.Key
	tag    uint64
	at     [choices]uint64
	spans  int

	// look says which image of a bucket is read, from firstLook on.
	look int
	// stamps are the stamps of home and of the second choice.
	stamps [secondAgain - firstAgain + 1]uint64
	// e is the entry of the item that is read, if reading is set.
	e       entry
	reading bool

	item store.Item
}

var _ store.Finder = (*Finder)(nil)

// The images of buckets that prove that a key is missing, in order.
const (
	firstLook = iota
	secondLook
	thirdLook
	firstAgain
	secondAgain
)

// NewFinder makes a Finder for the table that exported this layout.
func NewFinder(encoded []byte) (*Finder, error) {
	l, err := parseLayout(encoded)
	if err != nil {
		return nil, err
	}
	return &Finder{layout: l}, nil
}

// Start begins to look for a key.
func (f *Finder) Start(k store.Key) store.Span {
	f.key = k
	f.tag = f.layout.tagOf(k.Hash)
	f.at = f.layout.choicesOf(f.tag)
	f.spans = 1
	f.look, f.reading = firstLook, false
	f.item = store.Item{}
	return f.bucketSpan()
}

// Look examines the bytes that were read.
func (f *Finder) Look(b []byte) (store.Span, store.Outcome) {
	if f.reading {
		return f.lookAtItem(b)
	}
	return f.lookAtBucket(b)
}

// Item returns the item that was found.
func (f *Finder) Item() store.Item { return f.item }

// Touch returns false: the areas are read-only, so clients cannot count uses.
func (f *Finder) Touch() (store.Span, bool) { return store.Span{}, false }

// bucketSpan returns the span of the bucket to read.
func (f *Finder) bucketSpan() store.Span {
	return store.Span{Area: indexArea, Off: int64(f.at[f.look%firstAgain]) * bucketSize, Len: bucketSize}
}

// itemSpan returns the span of an entry's item, without the head of its block.
func (f *Finder) itemSpan(e *entry) store.Span {
	return store.Span{Area: itemArea, Off: int64(e.offset() + extent.Head), Len: int(e.size() - extent.Head)}
}

// more asks for a span, or returns Ask after maxSpans.
func (f *Finder) more(s store.Span) (store.Span, store.Outcome) {
	if f.spans == maxSpans {
		return store.Span{}, store.Ask
	}
	f.spans++
	return s, store.More
}

func (f *Finder) lookAtBucket(b []byte) (store.Span, store.Outcome) {
	e, ok := parseBucket(b)
	switch {
	case !ok:
		return f.more(f.bucketSpan())
	case f.look >= firstAgain && e.stamp() == f.stamps[f.look-firstAgain]:
		return f.notHere(&e) // unchanged since it did not have the key
	case e.empty() || e.tag() != f.tag:
		return f.notHere(&e)
	case !f.leadsToItem(&e):
		return f.more(f.bucketSpan())
	}
	f.e, f.reading = e, true
	return f.more(f.itemSpan(&e))
}

// leadsToItem reports whether an item can be where an entry points to.
func (f *Finder) leadsToItem(e *entry) bool {
	size, off, end := e.size(), e.offset(), f.layout.itemMemory
	return off >= extent.Unit && size >= extent.RoundUp(atKey) && size <= maxItem && off <= end && size <= end-off
}

// notHere continues after a bucket that does not have the key.
func (f *Finder) notHere(e *entry) (store.Span, store.Outcome) {
	switch f.look {
	case firstLook, firstAgain:
		if e.spill() == 0 {
			return store.Span{}, store.Missing
		}
		if f.look == firstAgain && e.stamp() == f.stamps[0] {
			f.look = secondAgain
			break
		}
		f.stamps[0] = e.stamp()
		f.look = secondLook
	case secondLook:
		f.stamps[1] = e.stamp()
		f.look = thirdLook
	case thirdLook:
		f.look = firstAgain
	case secondAgain:
		if e.stamp() == f.stamps[1] {
			return store.Span{}, store.Missing
		}
		// The last image of home counts as the first one of another round.
		f.stamps[1] = e.stamp()
		f.look = thirdLook
	}
	return f.more(f.bucketSpan())
}

func (f *Finder) lookAtItem(b []byte) (store.Span, store.Outcome) {
	f.reading = false
	r, ok := f.parseItem(b)
	switch {
	case !ok: // the entry may have changed
		return f.more(f.bucketSpan())
	case !r.IsKey(f.key.Bytes):
		return f.notHere(&f.e)
	}
	r.Show(&f.item)
	return store.Span{}, store.Found
}

// parseItem decodes an image of the item that the entry names, and reports whether it is
// valid.
func (f *Finder) parseItem(b []byte) (r extent.Record, ok bool) {
	if uint64(len(b)) != f.e.size()-extent.Head {
		return r, false
	}
	r = extent.RecordIn(b, atBody-extent.Head)
	ok = r.Version() == f.e.version() && extent.RoundUp(atBody+r.Size()) == f.e.size() &&
		binary.NativeEndian.Uint64(b[atHeadSum-extent.Head:]) == headSum(b[atBodySum-extent.Head:]) &&
		binary.NativeEndian.Uint64(b[atBodySum-extent.Head:]) == bodySum(r)
	return r, ok
}
