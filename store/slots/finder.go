package slots

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/store"
)

// The layout for a Finder: a magic number, the window, and the number of slots.
const (
	layoutSize = 16
	layoutMark = 0x31544c53 // "SLT1"
)

func layoutOf(n, window uint64) (layout [layoutSize]byte) {
	binary.LittleEndian.PutUint32(layout[:], layoutMark)
	binary.LittleEndian.PutUint32(layout[4:], uint32(window))
	binary.LittleEndian.PutUint64(layout[8:], n)
	return layout
}

// maxAgain is how often a search reads slots again whose checksum does not match (O5).
const maxAgain = 8

// Finder finds items in the slots of a Table by reading them.
type Finder struct {
	slots  uint64
	window int

	key    []byte
	at     uint64 // the slot that is read
	probes int
	again  int
	item   store.Item
}

var _ store.Finder = (*Finder)(nil)

// NewFinder makes a Finder for the table that exported this layout.
func NewFinder(layout []byte) (*Finder, error) {
	if len(layout) != layoutSize || binary.LittleEndian.Uint32(layout) != layoutMark {
		return nil, fmt.Errorf("slots: malformed layout of %d bytes: client and server may be of different versions", len(layout))
	}
	window, n := uint64(binary.LittleEndian.Uint32(layout[4:])), binary.LittleEndian.Uint64(layout[8:])
	if n == 0 || n > maxSlots || window == 0 || window > min(storeWindow, n) {
		return nil, fmt.Errorf("slots: malformed layout: %d slots and windows of %d", n, window)
	}
	return &Finder{slots: n, window: int(window)}, nil
}

// Start returns the span of the key's home.
func (f *Finder) Start(k store.Key) store.Span {
	f.key, f.at = k.Bytes, fnv1a(k.Bytes)%f.slots
	f.probes, f.again = 0, 0
	return f.span()
}

func (f *Finder) span() store.Span { return store.Span{Off: int64(f.at * slotSize), Len: slotSize} }

// Look continues from slot to slot until the key is found, a slot is empty, or the
// window ends.
func (f *Finder) Look(b []byte) (store.Span, store.Outcome) {
	if len(b) != slotSize {
		return store.Span{}, store.Ask
	}
	switch h := headOf(b); {
	case h == head(empty):
		return store.Span{}, store.Missing
	case h == head(tombstone):
	case !f.proves(b, h):
		if f.again++; f.again > maxAgain {
			return store.Span{}, store.Ask
		}
		return f.span(), store.More
	case string(b[atKey:][:h.keySize()]) == string(f.key):
		return store.Span{}, store.Found
	}
	if f.probes++; f.probes == f.window {
		return store.Span{}, store.Missing
	}
	if f.at++; f.at == f.slots {
		f.at = 0
	}
	return f.span(), store.More
}

// proves reports whether a slot holds an item that matches its checksum, and keeps the
// item (O5).
func (f *Finder) proves(b []byte, h head) bool {
	n := int(binary.LittleEndian.Uint32(b[atLength:]))
	if h.state() != occupied || h.keySize() > MaxKey || n < 0 || n > MaxValue {
		return false
	}
	if sumOf(b, h, n) != binary.LittleEndian.Uint64(b[atSum:]) {
		return false
	}
	f.item.Value = b[atValue:][:n:n]
	f.item.Version = h.version()
	f.item.Expires = int64(binary.LittleEndian.Uint64(b[atExpires:]))
	f.item.Flags = binary.LittleEndian.Uint32(b[atFlags:])
	return true
}

// Item returns the item that was Found.
func (f *Finder) Item() store.Item { return f.item }

// Touch returns the access_count of the slot that was read last.
func (f *Finder) Touch() (store.Span, bool) {
	return store.Span{Off: int64(f.at*slotSize + atCount), Len: 8}, true
}
