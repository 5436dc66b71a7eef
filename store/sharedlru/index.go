package sharedlru

import (
	"encoding/binary"

	"github.com/remora-kv/remora/store"
)

// maxRow is how many items a row may have (S8). No row reaches it by chance.
const maxRow = 64

// bucketOf returns the bucket of a hash: its low 32 bits, as a fraction of 2^32, scaled to
// the number of buckets.
func (t *Table) bucketOf(hash uint64) uint64 {
	return hash & (1<<32 - 1) * t.buckets >> 32
}

func (t *Table) row(bucket uint64) ref {
	return ref(binary.LittleEndian.Uint32(t.index[bucket*bucketSize:]))
}

func (t *Table) setRow(bucket uint64, first ref) {
	binary.LittleEndian.PutUint32(t.index[bucket*bucketSize:], uint32(first))
}

// find returns the item of a key, or 0.
func (t *Table) find(k *store.Key) ref {
	at := t.row(t.bucketOf(k.Hash))
	for at != 0 && !t.isKey(at, k) {
		at = t.chunks.link(at, atRowNext)
	}
	return at
}

// live is find, except that it reclaims the item if it has expired.
func (t *Table) live(k *store.Key, now int64) ref {
	at := t.find(k)
	if at != 0 && t.expired(at, now) {
		t.reclaim(at)
		return 0
	}
	return at
}

// enter puts an item in front of the row of its hash.
func (t *Table) enter(at ref) {
	c, bucket := &t.chunks, t.bucketOf(t.hash(at))
	first := t.row(bucket)
	c.setLink(at, atRowNext, first)
	c.setLink(at, atRowBefore, 0)
	if first != 0 {
		c.setLink(first, atRowBefore, at)
	}
	t.setRow(bucket, at)
}

// leave removes an item from its row.
func (t *Table) leave(at ref) {
	c := &t.chunks
	next, before := c.link(at, atRowNext), c.link(at, atRowBefore)
	if next != 0 {
		c.setLink(next, atRowBefore, before)
	}
	if before != 0 {
		c.setLink(before, atRowNext, next)
	} else {
		t.setRow(t.bucketOf(t.hash(at)), next)
	}
}

// lastOf returns the last item of the row of a hash, and the length of the row.
func (t *Table) lastOf(hash uint64) (last ref, n int) {
	for at := t.row(t.bucketOf(hash)); at != 0; at = t.chunks.link(at, atRowNext) {
		last = at
		n++
	}
	return last, n
}

// expireRow reclaims the expired items in the row of a hash, and reports whether there
// were any.
func (t *Table) expireRow(hash uint64, now int64) bool {
	found := false
	for at := t.row(t.bucketOf(hash)); at != 0; {
		next := t.chunks.link(at, atRowNext)
		if t.expired(at, now) {
			t.reclaim(at)
			found = true
		}
		at = next
	}
	return found
}
