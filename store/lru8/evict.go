package lru8

import "github.com/remora-kv/remora/internal/extent"

// Which items a cache gives up when the memory is full: first the last ones of
// some buckets, then neighbours (package extent). The package doc says why.
const (
	// visits is how many buckets are looked at for a Put.
	visits = 32
	// victims is how many of them give up their last item, at most.
	victims = 8
	// spares is how many are let off because that item was used.
	spares = 16
)

// vacate evicts the last item of a bucket if it is full.
func (t *Table) vacate(b bucket, now int64) {
	if last := b.slot(slots - 1); last != 0 {
		t.evict(place{b, slots - 1, last.offset()}, now)
		t.space.Give(last.offset())
	}
}

// evict takes an item out of the index to make room.
func (t *Table) evict(p place, now int64) {
	if t.expired(p.off, now) {
		t.stats.Expired++
	} else {
		t.stats.Evicted++
	}
	t.unlink(p)
}

// owner is how the space empties blocks (see package extent).
func (t *Table) owner() extent.Items {
	return extent.Items{Expire: t.expire, Clear: t.clear, Spare: t.spareItem}
}

// makeRoom frees memory until there is a block of need bytes, and takes it: by eviction
// in a cache, by reclaiming what has expired and moving what is in the way in a store.
// Only a store may fail; then it returns 0.
func (t *Table) makeRoom(need uint64, now int64, move bool) uint64 {
	if !t.caches() {
		return t.space.Reclaim(need, now, t.mortal > 0, move)
	}
	if off := t.evictLast(need, now); off != 0 {
		return off
	}
	return t.space.Evict(need, now, move)
}

// evictLast evicts the last items of some buckets until there is a block of need bytes,
// and takes it. It returns 0 if that was not enough.
func (t *Table) evictLast(need uint64, now int64) uint64 {
	spared, evicted := 0, 0
	for range visits {
		b := t.bucketAt(t.turn)
		if t.turn++; t.turn == t.buckets {
			t.turn = 0
		}
		last := b.count() - 1
		if last < 0 {
			continue
		}
		if spared < spares && t.spare(b, last) {
			spared++
			continue
		}
		off := b.slot(last).offset()
		t.evict(place{b, last, off}, now)
		if off = t.space.Give(off); t.space.Size(off) >= need {
			t.space.Claim(off)
			return off
		}
		if evicted++; evicted == victims {
			break
		}
	}
	return 0
}

// spare lets an item off if it was used, once.
func (t *Table) spare(b bucket, i int) bool {
	w := b.slot(i)
	if !w.isUsed() {
		return false
	}
	b.setSlot(i, w.unused())
	t.stats.Rescued++
	return true
}

// spareItem is spare for the item at off.
func (t *Table) spareItem(off uint64) bool {
	p := t.locate(off)
	return t.spare(p.b, p.i)
}

// expire takes the item at off, if there is one, out of the index if it has expired.
func (t *Table) expire(off uint64, now int64) bool {
	if t.space.Kind(off) != kindItem || !t.expired(off, now) {
		return false
	}
	t.stats.Expired++
	t.unlink(t.locate(off))
	return true
}

// clear takes what is at off out of the index, or moves it to another block, and reports
// whether it could.
func (t *Table) clear(off uint64, now int64, move bool) bool {
	switch {
	case t.expire(off, now):
		return true
	case t.space.Kind(off) == kindChain:
		return move && t.moveChain(off)
	}
	p := t.locate(off)
	switch {
	case !t.caches():
		return move && t.moveItem(p)
	case p.b.slot(p.i).isUsed() && move && t.moveItem(p):
		t.stats.Rescued++
	default:
		t.stats.Evicted++
		t.unlink(p)
	}
	return true
}

// moveItem moves an item to another block, and reports whether there was one. It is not
// marked as used any more.
func (t *Table) moveItem(p place) bool {
	size := extent.RoundUp(atKey + t.keySize(p.off) + t.valueSize(p.off))
	to := t.space.Take(size)
	if to == 0 {
		return false
	}
	copy(t.items[to+8:to+size], t.items[p.off+8:])
	t.space.Trim(to, size)
	p.b.setSlot(p.i, slotFor(to, t.hash(to)))
	return true
}
