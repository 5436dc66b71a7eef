package mica

import (
	"encoding/binary"
	"hash/crc32"
)

// fusedPart is how much of a long value is copied before its checksum is taken: so much as
// is still in the first cache then. The copy of a megabyte at once goes past all caches, and
// the checksum would load it from memory.
const fusedPart = 16 << 10

// fillLong copies a long value behind the key of its item, which is there, and seals the item.
// The value is not in the log.
func (t *Table) fillLong(at int, d *draft) {
	t.front(at, d)
	to := at + headerSize + d.meta.extra() + len(d.key)
	sum := crc32.Checksum(t.mem[at+versionAt:to], castagnoli)
	for value := d.value; len(value) != 0; {
		n := copy(t.mem[to:to+min(len(value), fusedPart)], value)
		sum = crc32.Update(sum, castagnoli, t.mem[to:to+n])
		value, to = value[n:], to+n
	}
	sum = crc32.Update(sum, castagnoli, t.mem[to:at+d.size])
	binary.LittleEndian.PutUint32(t.mem[at+checksumAt:], sum)
	t.publishMeta(at, d.meta|metaLive|d.used)
}

// isLong reports whether a draft is written by fillLong.
func (t *Table) isLong(d *draft) bool {
	return len(d.value) > 2*fusedPart && offsetIn(t.mem, d.value) == 0
}
