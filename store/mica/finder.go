package mica

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

// Finder follows links to items. It does not search: without a link the client asks the
// server.
type Finder struct {
	uses bool // the table counts uses by clients
	key  store.Key
	link store.Link
	item store.Item
}

var _ store.Follower = (*Finder)(nil)

// NewFinder makes a finder.
func NewFinder(layout []byte) (store.Finder, error) {
	if len(layout) != 1 || layout[0] > 1 {
		return nil, fmt.Errorf("mica: unknown layout of %d bytes; client and server may be of different versions", len(layout))
	}
	return &Finder{uses: layout[0] == 1}, nil
}

// Start returns an empty span: without a link there is nothing to read.
func (f *Finder) Start(store.Key) store.Span { return store.Span{} }

// Follow begins to look for an item at the place of a link.
func (f *Finder) Follow(k store.Key, l store.Link) store.Span {
	f.key, f.link = k, l
	return l.Span
}

// Look returns Found if b is the item of the link: live, of its key and version, and matching its
// checksum (M4) and the sum of the link, which are 64 bits together. Otherwise the outcome is Ask.
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
	if store.LinkSum(f.item.Value, f.item.Flags) != f.link.Sum {
		return store.Span{}, store.Ask
	}
	return store.Span{}, store.Found
}

// Item returns the item that was found. Bytes behind its value are padding.
func (f *Finder) Item() store.Item { return f.item }

// Touch returns the byte that counts uses at the place of the item.
func (f *Finder) Touch() (store.Span, bool) {
	return store.Span{Area: 1, Off: f.link.Span.Off / usesOf, Len: 1}, f.uses
}
