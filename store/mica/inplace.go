package mica

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
)

// roomAt returns how many bytes an item has that is written over the one at an offset: those of the old
// item and, as far as they are needed, of the dead items behind it. 0 means that it must go elsewhere.
//
// A Store takes items of the same shape and size only: what it accepts must not depend on places (M8).
// With FIFO a new item would be at an old place.
func (t *Table) roomAt(at int, d *draft) int {
	m := t.metaOf(at)
	room := t.sizeOf(m)
	switch {
	case t.keeping:
		if m.shape() != d.meta.shape() || room != d.size {
			return 0
		}
	case !t.spares:
		return 0
	}
	for end := t.ring.endOf(at); room < d.size; {
		next := at + room
		if next == end {
			return 0
		}
		m := t.metaOf(next)
		if m&metaLive != 0 {
			return 0
		}
		room += t.sizeOf(m)
	}
	return room
}

// replace writes an item over another one and the dead items behind it, which have room bytes together.
// That counts as a use, since its place in the log does not show that it is new.
func (t *Table) replace(d *draft, s slot, room int, now int64) {
	m := t.metaOf(s.at)
	if t.expired(s.at, m, now) {
		t.stats.Expired++
	}
	t.count(m, -1)
	t.ring.dead -= room - t.sizeOf(m)
	d.used = t.usedMark()
	if room-d.size == t.granule && t.granule < headerSize {
		d.meta |= metaSlack
		d.size = room
	}
	switch {
	case m.shape() == d.meta.shape():
		t.overwrite(s.at, d)
	case t.inLog(d):
		t.markDead(s.at)
		t.writeFromLog(s.at, d)
	default:
		t.write(s.at, d)
	}
	if rest := room - d.size; rest != 0 {
		t.writeDead(s.at+d.size, rest)
	}
	t.got = s.at
	t.count(d.meta, 1)
	t.noteExpiry(d.expires)
}

// writeDead makes a dead item of memory that no item has any more.
func (t *Table) writeDead(at, size int) {
	t.publishMeta(at, makeMeta(0, size-headerSize, 0, 0, 0))
	binary.LittleEndian.PutUint32(t.mem[at+checksumAt:], crc32c.Checksum(t.mem[at+versionAt:at+size]))
	t.ring.dead += size
}

// inLog reports whether the key or the value of a draft is a view of the log (S5).
func (t *Table) inLog(d *draft) bool {
	return offsetIn(t.mem, d.key) != 0 || offsetIn(t.mem, d.value) != 0
}
