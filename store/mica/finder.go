package mica

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

// Finder follows links to items. It searches for nothing: without a link the server
// has to be asked.
type Finder struct {
	uses bool // there are counts
	key  store.Key
	link store.Link
	item store.Item
}

var _ store.Follower = (*Finder)(nil)

// NewFinder makes a finder.
func NewFinder(layout []byte) (store.Finder, error) {
	if len(layout) != 1 || layout[0] > 1 {
		return nil, fmt.Errorf("mica: a layout of %d bytes that is not known", len(layout))
	}
	return &Finder{uses: layout[0] == 1}, nil
}

// Start returns a span that cannot be read, for there is nothing to be found this way.
func (f *Finder) Start(store.Key) store.Span { return store.Span{} }

// Follow begins to look where a link points to.
func (f *Finder) Follow(k store.Key, l store.Link) store.Span {
	f.key, f.link = k, l
	return l.Span
}

// Look judges what is there. It is the item of the link if it is live, has its key and
// its version, and all of it fits its checksum (M4); otherwise the outcome is Ask.
func (f *Finder) Look(b []byte) (store.Span, store.Outcome) {
	if len(b) < headerSize {
		return store.Span{}, store.Ask
	}
	m := meta(binary.LittleEndian.Uint64(b[metaAt:]))
	version := uint64(binary.LittleEndian.Uint32(b[versionAt:])) | uint64(m&0xffff)<<32
	n := m.length()
	if m&metaLive == 0 || version != f.link.Version || m.keyLen() != len(f.key.Bytes) || n > len(b) {
		return store.Span{}, store.Ask
	}
	keyAt := headerSize + m.extra()
	valueAt := keyAt + m.keyLen()
	if !bytes.Equal(b[keyAt:valueAt], f.key.Bytes) {
		return store.Span{}, store.Ask
	}
	b[stateAt] &^= stateUsed | stateLive
	if crc32c.Checksum(b[versionAt:]) != binary.LittleEndian.Uint32(b) {
		return store.Span{}, store.Ask
	}
	f.item.Version, f.item.Flags, f.item.Expires = version, 0, 0
	if m&metaHasFlags != 0 {
		f.item.Flags = binary.LittleEndian.Uint32(b[flagsAt:])
	}
	if m&metaHasExpiry != 0 {
		f.item.Expires = int64(binary.LittleEndian.Uint64(b[expiryAt(0, m):]))
	}
	f.item.Value = b[valueAt:n]
	return store.Span{}, store.Found
}

// Item returns what was found. Bytes behind its value are padding.
func (f *Finder) Item() store.Item { return f.item }

// Touch returns the byte that counts uses of where the item is.
func (f *Finder) Touch() (store.Span, bool) {
	return store.Span{Area: 1, Off: f.link.Span.Off / usesOf, Len: 1}, f.uses
}
