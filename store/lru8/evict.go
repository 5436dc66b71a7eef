package lru8

// Which items a cache evicts when the memory is full: first the last ones of
// some buckets, then neighbours (package extent). The package doc says why.
const (
	// maxLooks is how many buckets a Put examines.
	maxLooks = 32
	// victims is how many of them lose their last item, at most.
	victims = 8
	// spares is how many keep their last item because it was used, at most.
	spares = 16
)

// vacate evicts the last item of a bucket if it is full.
func (t *Table) vacate(b bucket, now int64) {
	if last := b.slot(slots - 1); last != 0 {
		t.evict(place{b, slots - 1, last.offset()}, now)
		t.heap.Give(last.offset())
	}
}

// evict removes an item from the index to make room.
func (t *Table) evict(p place, now int64) {
	t.heap.Lose(t.record(p.off), now)
	t.unlink(p)
}

// makeRoom takes a block of at least need bytes for an item. In Store mode it returns 0 if
// that fails.
func (t *Table) makeRoom(need uint64, now int64, key, value []byte) uint64 {
	if t.heap.Caches() {
		if off := t.evictLast(need, now); off != 0 {
			return off
		}
	}
	return t.heap.MakeRoom(need, now, key, value)
}

// evictLast evicts the last items of some buckets until there is a block of need bytes,
// and takes it. It returns 0 if there is none.
func (t *Table) evictLast(need uint64, now int64) uint64 {
	spared, evicted := 0, 0
	for range maxLooks {
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
			t.heap.Stats.Rescued++
			continue
		}
		off := b.slot(last).offset()
		t.evict(place{b, last, off}, now)
		if off = t.heap.Give(off); t.heap.Size(off) >= need {
			t.heap.Claim(off)
			return off
		}
		if evicted++; evicted == victims {
			break
		}
	}
	return 0
}

// spare reports whether the item of a slot was used, and clears its mark of use.
func (t *Table) spare(b bucket, i int) bool {
	w := b.slot(i)
	if !w.isUsed() {
		return false
	}
	b.setSlot(i, w.unused())
	return true
}

// spareBlock is spare for the item at off.
func (t *Table) spareBlock(off uint64) bool {
	p := t.locate(off)
	return t.spare(p.b, p.i)
}
