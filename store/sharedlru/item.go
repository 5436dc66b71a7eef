package sharedlru

import (
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/store"
)

func (t *Table) keySize(at ref) int    { return int(t.chunks.long(at, atVersion) >> 48) }
func (t *Table) version(at ref) uint64 { return t.chunks.long(at, atVersion) & store.MaxVersion }
func (t *Table) expires(at ref) int64  { return int64(t.chunks.long(at, atExpires)) }
func (t *Table) hash(at ref) uint64    { return t.chunks.long(at, atHash) }
func (t *Table) valueSize(at ref) int  { return int(t.chunks.word(at, atValueSize)) }
func (t *Table) size(at ref) uint32    { return chunksFor(t.keySize(at) + t.valueSize(at)) }

// versionAt returns the version of the item at a place, 0 if there is none.
func (t *Table) versionAt(at ref) uint64 {
	if at == 0 {
		return 0
	}
	return t.version(at)
}

// expired reports whether the item has expired.
func (t *Table) expired(at ref, now int64) bool {
	e := t.expires(at)
	return e != 0 && e <= now
}

// isKey reports whether the item has this key.
func (t *Table) isKey(at ref, k *store.Key) bool {
	if t.hash(at) != k.Hash || t.keySize(at) != len(k.Bytes) {
		return false
	}
	cur := t.chunks.begin(at)
	return t.chunks.equal(&cur, k.Bytes)
}

// fill writes an item into its chunks.
func (t *Table) fill(at ref, k store.Key, e store.Entry, version uint64) {
	c := &t.chunks
	cur := c.begin(at)
	c.write(&cur, k.Bytes)
	c.write(&cur, e.Value)
	c.setLong(at, atVersion, version|uint64(len(k.Bytes))<<48)
	c.setLong(at, atExpires, uint64(e.Expires))
	c.setLong(at, atHash, k.Hash)
	c.setWord(at, atFlags, e.Flags)
	c.setWord(at, atValueSize, uint32(len(e.Value)))
	c.setWord(at, atBodySum, crc32c.Update(crc32c.Checksum(k.Bytes), e.Value))
	t.seal(at)
}

// show fills in item, and copies the value into b, which is long enough.
func (t *Table) show(at ref, b []byte, item *store.Item) {
	c := &t.chunks
	cur := c.begin(at)
	for left := t.keySize(at); left > 0; {
		left -= len(c.piece(&cur, left))
	}
	t.showRest(at, &cur, b, item)
}

// showKey fills in k and item, and copies key and value into b.
func (t *Table) showKey(at ref, b []byte, k *store.Key, item *store.Item) {
	n := t.keySize(at)
	cur := t.chunks.begin(at)
	t.chunks.read(&cur, b[:n])
	k.Hash, k.Bytes = t.hash(at), b[:n:n]
	t.showRest(at, &cur, b[n:], item)
}

func (t *Table) showRest(at ref, cur *cursor, b []byte, item *store.Item) {
	n := t.valueSize(at)
	t.chunks.read(cur, b[:n])
	item.Value = b[:n:n]
	item.Version = t.version(at)
	item.Expires = t.expires(at)
	item.Flags = t.chunks.word(at, atFlags)
}

// seal writes the checksum of the header.
func (t *Table) seal(at ref) { t.chunks.setWord(at, atHeadSum, t.headSum(at)) }

// headSum returns the checksum of the rest of the header, which includes that of the body.
func (t *Table) headSum(at ref) uint32 {
	from := uint64(at) * chunkSize
	return crc32c.Checksum(t.chunks.mem[from+atBodySum : from+atNewer])
}

// bodySum returns the checksum of key and value.
func (t *Table) bodySum(at ref) uint32 {
	cur := t.chunks.begin(at)
	sum := uint32(0)
	for left := t.keySize(at) + t.valueSize(at); left > 0; {
		p := t.chunks.piece(&cur, left)
		sum = crc32c.Update(sum, p)
		left -= len(p)
	}
	return sum
}
