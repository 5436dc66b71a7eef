package mica

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/internal/fence"
)

// fusedPart is how much of a long value is copied before its checksum is updated: it is
// still in the L1 cache then.
const fusedPart = 4 << 10

// longValue is the length of the shortest value that fillLong writes.
const longValue = 32 << 10

// pastCaches is the length of the shortest value that is written to the log past the
// caches: it would evict everything else, and fetching the lines to be written takes
// longer than writing them.
const pastCaches = 256 << 10

// fillLong copies a long value behind the key of its item, which is already written, and
// seals the item. The value must not be in the log.
func (t *Table) fillLong(at int, d *draft) {
	t.front(at, d)
	to := at + headerSize + d.meta.extra() + len(d.key)
	sum := crc32c.Checksum(t.mem[at+versionAt : to])
	past := len(d.value) >= pastCaches
	if past {
		fence.Drain() // clients see that the old item is dead before they see new bytes
	}
	for value := d.value; len(value) != 0; {
		part := value[:min(len(value), fusedPart-to%lineSize)] // the following parts begin at a line
		if past {
			fence.CopyPast(t.mem[to:], part)
		} else {
			copy(t.mem[to:], part)
		}
		sum = crc32c.Update(sum, part) // of the source, which is cached; the log may not be
		value, to = value[len(part):], to+len(part)
	}
	if past {
		fence.Drain()
	}
	sum = crc32c.Update(sum, t.mem[to:at+d.size])
	binary.LittleEndian.PutUint32(t.mem[at+checksumAt:], sum)
	t.publishMeta(at, d.meta|metaLive|d.used)
}

// isLong reports whether a draft is written by fillLong.
func (t *Table) isLong(d *draft) bool {
	return len(d.value) >= longValue && offsetIn(t.mem, d.value) == 0
}
