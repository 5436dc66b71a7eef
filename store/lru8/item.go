package lru8

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// Offsets of the parts of an item in its block.
const (
	atHeadSum = 8
	atBodySum = 12
	atWord    = 16
	atBody    = atWord + extent.WordSize
	atKey     = atBody + extent.BodyData
)

// Kinds of blocks in use.
const (
	kindItem  = extent.Taken
	kindChain = extent.Taken + 1 // an overflow bucket
)

// blockSize returns the length of the block of an item.
func blockSize(keySize, valueSize int) uint64 {
	return extent.RoundUp(atKey + uint64(keySize) + uint64(valueSize))
}

// record returns the item at off.
func (t *Table) record(off uint64) extent.Record { return t.heap.Record(off + atBody) }

// item returns how many bytes of its block an item or overflow bucket needs, and when it expires.
func (t *Table) item(off uint64) (size uint64, expires int64) {
	if t.heap.Kind(off) == kindChain {
		return chainBlock, 0
	}
	r := t.record(off)
	return extent.RoundUp(atBody + r.Size()), r.Expires()
}

// fill writes an item into a block that was taken.
func (t *Table) fill(off uint64, k store.Key, e *store.Entry) {
	t.heap.Fill(off, atBody, k, e)
	t.sealBody(off)
}

// sealBody writes both checksums.
func (t *Table) sealBody(off uint64) {
	binary.LittleEndian.PutUint32(t.heap.Mem()[off+atBodySum:], bodySum(t.record(off)))
	t.seal(off)
}

// seal writes the checksum of the header.
func (t *Table) seal(off uint64) {
	binary.LittleEndian.PutUint32(t.heap.Mem()[off+atHeadSum:], t.headSum(off))
}

// headSum returns the checksum of the rest of the header, which includes that of the body.
func (t *Table) headSum(off uint64) uint32 {
	return crc32c.Checksum(t.heap.Mem()[off+atBodySum : off+atKey])
}

// bodySum returns the checksum of key and value.
func bodySum(r extent.Record) uint32 {
	return crc32c.Checksum(r.Body[extent.BodyData:r.Size()])
}
