package mica

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

// draft is an item to be written.
type draft struct {
	key, value []byte
	hash       uint64
	expires    int64
	version    uint64
	flags      uint32
	meta       meta
	used       meta // metaUsed, or 0
	size       int  // in the log
}

// shape decides which fields the item has. Large items always have room for an expiry,
// so that Touch need not move them.
func (t *Table) shape(d *draft) {
	d.meta = makeMeta(len(d.key), len(d.value), d.flags, d.expires, d.version)
	if d.meta.length() >= t.large {
		d.meta |= metaHasExpiry
	}
	d.size = t.sizeOf(d.meta)
}

// write writes an item into unused memory.
func (t *Table) write(at int, d *draft) {
	t.publishMeta(at, d.meta)
	keyAt := at + headerSize + d.meta.extra()
	copy(t.mem[keyAt:], d.key)
	if t.isLong(d) {
		t.fillLong(at, d)
		return
	}
	copy(t.mem[keyAt+len(d.key):], d.value)
	t.seal(at, d)
}

// writeFromLog is write for an item whose key or value lies in the log, maybe in
// the memory that is written.
func (t *Table) writeFromLog(at int, d *draft) {
	if offsetIn(t.mem, d.key) != 0 {
		t.writeByStack(at, d)
	} else {
		t.writeValueFirst(at, d, d.key)
	}
}

// writeByStack copies the key to the stack, so that the value does not overwrite it.
func (t *Table) writeByStack(at int, d *draft) {
	var buf [store.MaxKey]byte
	t.writeValueFirst(at, d, buf[:copy(buf[:], d.key)])
}

// writeValueFirst writes the value first, before other writes could overwrite its source.
func (t *Table) writeValueFirst(at int, d *draft, key []byte) {
	keyAt := at + headerSize + d.meta.extra()
	copy(t.mem[keyAt+len(key):], d.value)
	t.publishMeta(at, d.meta)
	copy(t.mem[keyAt:], key)
	t.seal(at, d)
}

// overwrite replaces the value of an item with one of the same shape and size,
// which may be a part of the replaced value.
func (t *Table) overwrite(at int, d *draft) {
	t.publishMeta(at, d.meta)
	if t.isLong(d) {
		t.fillLong(at, d)
		return
	}
	copy(t.mem[at+headerSize+d.meta.extra()+len(d.key):], d.value)
	t.seal(at, d)
}

// seal writes the fields beside key and value, and last the meta word that
// makes the item live.
func (t *Table) seal(at int, d *draft) {
	t.front(at, d)
	binary.LittleEndian.PutUint32(t.mem[at+checksumAt:], crc32c.Checksum(t.mem[at+versionAt:at+d.size]))
	t.publishMeta(at, d.meta|metaLive|d.used)
}

// front writes the fields beside key and value, except checksum and meta word.
func (t *Table) front(at int, d *draft) {
	m := d.meta
	clear(t.mem[at+m.length() : at+d.size])
	if m&metaHasFlags != 0 {
		binary.LittleEndian.PutUint32(t.mem[at+flagsAt:], d.flags)
	}
	if m&metaHasExpiry != 0 {
		binary.LittleEndian.PutUint64(t.mem[expiryAt(at, m):], uint64(d.expires))
	}
	binary.LittleEndian.PutUint32(t.mem[at+versionAt:], uint32(d.version))
}

// setExpiry changes the expiry of an item that has room for one.
func (t *Table) setExpiry(at int, m meta, expires int64, used meta) {
	t.publishMeta(at, m&^metaState)
	binary.LittleEndian.PutUint64(t.mem[expiryAt(at, m):], uint64(expires))
	sum := crc32c.Checksum(t.mem[at+versionAt : at+t.sizeOf(m)])
	binary.LittleEndian.PutUint32(t.mem[at+checksumAt:], sum)
	t.publishMeta(at, m|used)
}
