package sharedlru

// expiryChunks is how many chunks a store searches for expired items.
const expiryChunks = 64

// makeRoom frees chunks until there are need, and reports whether it could. A cache
// always can, since an item is not longer than a view, which fits all chunks together.
func (t *Table) makeRoom(need uint32, now int64) bool {
	if !t.caches() {
		return t.chunks.free >= need || t.expire(need, now)
	}
	for t.chunks.free < need {
		t.evict(t.order.oldest, now)
	}
	return true
}

// evict removes an item to make room.
func (t *Table) evict(at ref, now int64) {
	if t.expired(at, now) {
		t.reclaim(at)
		return
	}
	t.shareOf(at).evicted++
	t.remove(at)
}

// expire reclaims expired items among the next chunks until there is room, and reports
// whether there is.
func (t *Table) expire(need uint32, now int64) bool {
	if t.mortal == 0 {
		return false
	}
	for range expiryChunks {
		if t.hand >= t.chunks.fresh {
			t.hand = 1
		}
		if at := t.hand; at < t.chunks.fresh && t.chunks.kindOf(at) == kindItem && t.expired(at, now) {
			if t.reclaim(at); t.chunks.free >= need {
				return true
			}
		}
		t.hand++
	}
	return false
}

// shorten makes room for another item in the row of a hash, and reports whether it could
// (H5).
func (t *Table) shorten(hash uint64, now int64) bool {
	last, n := t.lastOf(hash)
	switch {
	case n < maxRow:
		return true
	case t.caches():
		t.evict(last, now)
		return true
	}
	return t.mortal != 0 && t.expireRow(hash, now)
}
