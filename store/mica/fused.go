package mica

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/internal/fence"
)

// fusedPart is how much of a long value is copied before its checksum is taken: so much as
// is still in the first cache then.
const fusedPart = 4 << 10

// longValue is how long values are that fillLong takes.
const longValue = 32 << 10

// pastCaches is how long values are that bypass the caches when they are written to the log: they would
// push everything else out, and to fetch the lines that they are written to takes longer
// than to write them.
const pastCaches = 256 << 10

// fillLong copies a long value behind the key of its item, which is there, and seals the item.
// The value is not in the log.
func (t *Table) fillLong(at int, d *draft) {
	t.front(at, d)
	to := at + headerSize + d.meta.extra() + len(d.key)
	sum := crc32c.Checksum(t.mem[at+versionAt : to])
	past := len(d.value) >= pastCaches
	if past {
		fence.Drain() // what was said of the place before is seen before what is written there
	}
	for value := d.value; len(value) != 0; {
		part := value[:min(len(value), fusedPart-to%lineSize)] // the others begin with a line
		if past {
			fence.CopyPast(t.mem[to:], part)
		} else {
			copy(t.mem[to:], part)
		}
		sum = crc32c.Update(sum, part) // of what is near: the log may not be
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
