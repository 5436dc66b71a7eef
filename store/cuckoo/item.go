package cuckoo

import (
	"bytes"
	"encoding/binary"

	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// Where the fields of an item are, from the beginning of its block.
const (
	atHeadSum = 8
	atBodySum = 16
	atVersion = 24 // 48 bits, then 16 bits length of the key
	atExpires = 32
	atHash    = 40
	atFlags   = 48 // 32 bits, then 32 bits length of the value
	atKey     = 56
)

// Kinds of blocks in use.
const (
	plain = extent.Taken     // an item
	used  = extent.Taken + 1 // an item that was used since it was written or spared
)

// blockSize returns the length of the block of an item.
func blockSize(keySize, valueSize int) uint64 {
	return extent.RoundUp(atKey + uint64(keySize) + uint64(valueSize))
}

// field returns a word of the header of an item.
func (t *Table) field(off, at uint64) uint64 { return binary.NativeEndian.Uint64(t.items[off+at:]) }

func (t *Table) setField(off, at, word uint64) {
	fence.Publish64(fence.Word(t.items, int(off+at)), word)
}

func (t *Table) keySize(off uint64) uint64   { return t.field(off, atVersion) >> 48 }
func (t *Table) version(off uint64) uint64   { return t.field(off, atVersion) & store.MaxVersion }
func (t *Table) expires(off uint64) int64    { return int64(t.field(off, atExpires)) }
func (t *Table) hash(off uint64) uint64      { return t.field(off, atHash) }
func (t *Table) valueSize(off uint64) uint64 { return t.field(off, atFlags) >> 32 }

// itemSize returns how much of its block an item needs.
func (t *Table) itemSize(off uint64) uint64 {
	return extent.RoundUp(atKey + t.keySize(off) + t.valueSize(off))
}

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

// show fills in the item, with its value as a view.
func (t *Table) show(off uint64, item *store.Item) {
	item.Value = t.valueOf(off)
	item.Version = t.version(off)
	item.Expires = t.expires(off)
	item.Flags = uint32(t.field(off, atFlags))
}

// writeHeader completes an item whose key and value are in place.
func (t *Table) writeHeader(off, hash uint64, keySize int, e *store.Entry, version uint64) {
	t.setField(off, atVersion, version|uint64(keySize)<<48)
	t.setField(off, atExpires, uint64(e.Expires))
	t.setField(off, atHash, hash)
	t.setField(off, atFlags, uint64(e.Flags)|uint64(len(e.Value))<<32)
	t.setField(off, atBodySum, t.bodySum(off))
	t.setField(off, atHeadSum, headSum(t.items[off:]))
}

// setExpires changes the time when an item expires (C11).
func (t *Table) setExpires(off uint64, expires int64) {
	t.setField(off, atExpires, uint64(expires))
	t.setField(off, atHeadSum, headSum(t.items[off:]))
}

// headSum covers the rest of a header, the checksum of the body included.
func headSum(item []byte) uint64 { return addBytes(itemSum, item[atBodySum:atKey]) }

// bodySum covers key and value.
func (t *Table) bodySum(off uint64) uint64 {
	from := off + atKey
	return addBytes(itemSum, t.items[from:from+t.keySize(off)+t.valueSize(off)])
}
