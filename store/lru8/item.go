package lru8

import (
	"bytes"
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/store"
)

// Where the fields of an item are, from the beginning of its block.
const (
	atHeadSum   = 8
	atBodySum   = 12
	atVersion   = 16 // 48 bits, then 16 bits length of the key
	atExpires   = 24
	atHash      = 32
	atFlags     = 40
	atValueSize = 44
	atKey       = 48
)

// blockSize returns the length of the block of an item.
func blockSize(keySize, valueSize int) uint64 {
	return extent.RoundUp(atKey + uint64(keySize) + uint64(valueSize))
}

func (t *Table) word(off uint64) uint64 { return binary.LittleEndian.Uint64(t.items[off:]) }

func (t *Table) keySize(off uint64) uint64   { return t.word(off+atVersion) >> 48 }
func (t *Table) version(off uint64) uint64   { return t.word(off+atVersion) & store.MaxVersion }
func (t *Table) expires(off uint64) int64    { return int64(t.word(off + atExpires)) }
func (t *Table) hash(off uint64) uint64      { return t.word(off + atHash) }
func (t *Table) valueSize(off uint64) uint64 { return t.word(off+atFlags) >> 32 }

// expired says whether the item is gone.
func (t *Table) expired(off uint64, now int64) bool {
	e := t.expires(off)
	return e != 0 && e <= now
}

// keyOf is a view of the key.
func (t *Table) keyOf(off uint64) []byte {
	from, to := off+atKey, off+atKey+t.keySize(off)
	return t.items[from:to:to]
}

// valueOf is a view of the value.
func (t *Table) valueOf(off uint64) []byte {
	from := off + atKey + t.keySize(off)
	to := from + t.valueSize(off)
	return t.items[from:to:to]
}

// isKey says whether the item has this key.
func (t *Table) isKey(off uint64, key []byte) bool {
	return t.keySize(off) == uint64(len(key)) && bytes.Equal(t.keyOf(off), key)
}

// item is the item with its value as a view.
func (t *Table) show(off uint64, item *store.Item) {
	item.Value = t.valueOf(off)
	item.Version = t.version(off)
	item.Expires = t.expires(off)
	item.Flags = uint32(t.word(off + atFlags))
}

// writeHeader completes an item whose key and value are in place.
func (t *Table) writeHeader(off, hash uint64, keySize int, e store.Entry, version uint64) {
	b := t.items[off:]
	binary.LittleEndian.PutUint64(b[atVersion:], version|uint64(keySize)<<48)
	binary.LittleEndian.PutUint64(b[atExpires:], uint64(e.Expires))
	binary.LittleEndian.PutUint64(b[atHash:], hash)
	binary.LittleEndian.PutUint64(b[atFlags:], uint64(e.Flags)|uint64(len(e.Value))<<32)
	binary.LittleEndian.PutUint32(b[atBodySum:], t.bodySum(off))
	t.seal(off)
}

// setExpires changes the time when an item expires.
func (t *Table) setExpires(off uint64, expires int64) {
	binary.LittleEndian.PutUint64(t.items[off+atExpires:], uint64(expires))
	t.seal(off)
}

// seal writes the checksum of the header.
func (t *Table) seal(off uint64) {
	binary.LittleEndian.PutUint32(t.items[off+atHeadSum:], t.headSum(off))
}

// headSum covers the rest of the header, the checksum of the body included.
func (t *Table) headSum(off uint64) uint32 {
	return crc32c.Checksum(t.items[off+atBodySum : off+atKey])
}

// bodySum covers key and value.
func (t *Table) bodySum(off uint64) uint32 {
	from := off + atKey
	return crc32c.Checksum(t.items[from : from+t.keySize(off)+t.valueSize(off)])
}
