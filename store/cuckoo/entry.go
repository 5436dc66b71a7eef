package cuckoo

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// bucketSize is the length of a bucket, four words.
const bucketSize = 32

// Bits of the words of a bucket (see the package doc).
const (
	versionBits = 48
	spillBits   = 64 - versionBits
	offsetBits  = 36
	stampBits   = 64 - offsetBits
	lengthBits  = 23
	tagBits     = 64 - lengthBits
)

// maxSpill marks a count of spilled keys that has overflowed and no longer changes.
const maxSpill = 1<<spillBits - 1

// entry is a bucket without its checksum: three words. The count of spilled keys and the
// stamp belong to the bucket, the rest to the item.
type entry struct {
	w0, w1, w2 uint64
}

// entryOf returns the entry of an item.
func entryOf(version, off, size, tag uint64) entry {
	return entry{version, off / extent.Unit, size/extent.Unit | tag<<lengthBits}
}

func (e *entry) version() uint64 { return e.w0 & store.MaxVersion }
func (e *entry) spill() uint64   { return e.w0 >> versionBits }
func (e *entry) offset() uint64  { return e.w1 & (1<<offsetBits - 1) * extent.Unit }
func (e *entry) stamp() uint64   { return e.w1 >> offsetBits }
func (e *entry) size() uint64    { return e.w2 & (1<<lengthBits - 1) * extent.Unit }
func (e *entry) tag() uint64     { return e.w2 >> lengthBits }
func (e *entry) empty() bool     { return e.version() == 0 }

// sum returns the checksum of a bucket.
func (e *entry) sum() uint64 { return addWord(addWord(addWord(0, e.w0), e.w1), e.w2) }

// item returns the entry without the fields of the bucket.
func (e *entry) item() entry {
	return entry{e.version(), e.w1 & (1<<offsetBits - 1), e.w2}
}

// parseBucket decodes an image of a bucket, and reports whether its checksum matches (C4).
func parseBucket(b []byte) (e entry, ok bool) {
	if len(b) < bucketSize {
		return e, false
	}
	e.w0 = binary.NativeEndian.Uint64(b)
	e.w1 = binary.NativeEndian.Uint64(b[8:])
	e.w2 = binary.NativeEndian.Uint64(b[16:])
	return e, e.sum() == binary.NativeEndian.Uint64(b[24:])
}

// spilled returns a count changed by change, 1 or -1, unless it has overflowed.
func spilled(count uint64, change int) uint64 {
	if count == maxSpill {
		return count
	}
	return count + uint64(change)
}

// word returns word i of a bucket.
func (t *Table) word(bucket uint64, i int) uint64 {
	return binary.NativeEndian.Uint64(t.index[int(bucket)*bucketSize+8*i:])
}

// entryAt returns the entry of a bucket.
func (t *Table) entryAt(bucket uint64) entry {
	return entry{t.word(bucket, 0), t.word(bucket, 1), t.word(bucket, 2)}
}

func (t *Table) isEmpty(bucket uint64) bool { return t.word(bucket, 0)&store.MaxVersion == 0 }

// write puts an item, or the zero entry, into a bucket, and adds spill to its count of
// spilled keys: one change for clients that read it (C4).
func (t *Table) write(bucket uint64, e entry, spill int) {
	old := t.entryAt(bucket)
	e.w0 |= spilled(old.spill(), spill) << versionBits
	e.w1 |= (old.stamp() + 1) << offsetBits
	at := int(bucket) * bucketSize
	fence.Publish64(fence.Word(t.index, at), e.w0)
	fence.Publish64(fence.Word(t.index, at+8), e.w1)
	fence.Publish64(fence.Word(t.index, at+16), e.w2)
	fence.Publish64(fence.Word(t.index, at+24), e.sum())
}

// countSpill adds change to the count of spilled keys of a bucket.
func (t *Table) countSpill(bucket uint64, change int) {
	e := t.entryAt(bucket)
	t.write(bucket, e.item(), change)
}
