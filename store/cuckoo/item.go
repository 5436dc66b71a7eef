package cuckoo

import (
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Offsets of the parts of an item in its block.
const (
	atHeadSum = 8
	atBodySum = 16
	atWord    = 24
	atBody    = atWord + extent.WordSize
	atKey     = atBody + extent.BodyData
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

// record returns the item at off.
func (t *Table) record(off uint64) extent.Record { return t.heap.Record(off + atBody) }

// item returns how many bytes of its block an item needs, and when it expires.
func (t *Table) item(off uint64) (size uint64, expires int64) {
	r := t.record(off)
	return extent.RoundUp(atBody + r.Size()), r.Expires()
}

// fill writes an item into a block that was taken.
func (t *Table) fill(off uint64, k store.Key, e *store.Entry) {
	t.heap.Fill(off, atBody, k, e)
	t.heap.SetWord(off+atBodySum, bodySum(t.record(off)))
	t.seal(off)
}

// seal writes the checksum of the header (C11).
func (t *Table) seal(off uint64) {
	t.heap.SetWord(off+atHeadSum, headSum(t.heap.Mem()[off+atBodySum:]))
}

// headSum returns the checksum of the rest of a header, from the checksum of key and value on.
func headSum(b []byte) uint64 { return addBytes(itemSum, b[:atKey-atBodySum]) }

// bodySum returns the checksum of key and value.
func bodySum(r extent.Record) uint64 { return addBytes(itemSum, r.Body[extent.BodyData:r.Size()]) }

// spare reports whether an item was used since it was written or spared, and clears its
// mark of use.
func (t *Table) spare(off uint64) bool {
	if t.heap.Kind(off) != used {
		return false
	}
	t.heap.SetKind(off, plain)
	return true
}
