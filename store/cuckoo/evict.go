package cuckoo

import (
	"github.com/remora-kv/remora/internal/extent"
	"github.com/remora-kv/remora/internal/fence"
)

// owner is how the space empties blocks (see package extent).
func (t *Table) owner() extent.Items {
	return extent.Items{Expire: t.expire, Clear: t.clear, Spare: t.spare}
}

// makeRoom frees memory until there is a block of need bytes, and takes it: by eviction
// in a cache, by reclaiming what has expired and moving what is in the way in a store.
// Only a store may fail; then it returns 0.
func (t *Table) makeRoom(need uint64, now int64, move bool) uint64 {
	if t.caches() {
		return t.space.Evict(need, now, move)
	}
	return t.space.Reclaim(need, now, t.mortal > 0, move)
}

// spare lets an item off if it was used, once.
func (t *Table) spare(off uint64) bool {
	if t.space.Kind(off) != used {
		return false
	}
	t.space.SetKind(off, plain)
	t.stats.Rescued++
	return true
}

// expire takes the item at off out of the index if it has expired.
func (t *Table) expire(off uint64, now int64) bool {
	if !t.expired(off, now) {
		return false
	}
	t.stats.Expired++
	t.unlink(t.locate(off))
	return true
}

// clear takes the item at off out of the index, or moves it to another block, and reports
// whether it could.
func (t *Table) clear(off uint64, now int64, move bool) bool {
	if t.expire(off, now) {
		return true
	}
	p := t.locate(off)
	switch {
	case !t.caches():
		return move && t.moveItem(p)
	case t.space.Kind(off) == used && move && t.moveItem(p):
		t.stats.Rescued++
	default:
		t.stats.Evicted++
		t.unlink(p)
	}
	return true
}

// moveItem moves an item to another block (C10), and reports whether there was one. It is
// not marked as used any more.
func (t *Table) moveItem(p place) bool {
	size := t.itemSize(p.off)
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	fence.CopyOut(t.items[to+atHeadSum:to+size], t.items[p.off+atHeadSum:p.off+size])
	t.space.Trim(to, size)
	t.rename(p.bucket, t.entryFor(to))
	return true
}
