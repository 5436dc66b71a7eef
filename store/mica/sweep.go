package mica

import "math"

// findRoom takes size bytes for an item of a Store, and returns their offset. It slides
// items together until there is room, or until it has slid all of them.
func (t *Table) findRoom(size, spare int, now int64) (at int, ok bool) {
	for range 3 {
		if at, ok = t.take(size, spare); ok {
			return at, true
		}
		if !t.ring.wrapped && !t.beginPass() {
			break
		}
		for t.ring.wrapped {
			t.sweepOldest(now)
			if at, ok = t.take(size, spare); ok {
				return at, true
			}
		}
	}
	return t.take(size, spare)
}

// take takes size bytes above all items if that leaves spare bytes to the index, or else
// from the gap of a pass.
func (t *Table) take(size, spare int) (at int, ok bool) {
	r := &t.ring
	switch {
	case r.top()+size+spare <= t.bottom() && r.wrapped:
		at = r.end
		r.end += size
	case r.top()+size+spare <= t.bottom():
		at = r.head
		r.head += size
	case r.wrapped && r.head+size <= r.tail:
		at = r.head
		r.head += size
	default:
		return 0, false
	}
	return at, true
}

// beginPass begins to slide all items down to the start of the log. It returns
// false if there are none.
func (t *Table) beginPass() bool {
	if t.ring.empty() {
		t.ring.reset()
		return false
	}
	t.ring.turn()
	t.sooner = math.MaxInt64
	t.pace = 4*(t.ring.end-t.ring.tail)/(3*max(t.above(), t.granule)) + 2
	return true
}

// above returns how many bytes are free above all items, less the share of the index.
func (t *Table) above() int { return t.bottom() - t.ring.top() - len(t.mem)/indexShare }

// finishPass completes a pass.
func (t *Table) finishPass(now int64) {
	for t.ring.wrapped {
		t.sweepOldest(now)
	}
}

// sweepOldest slides the oldest item of a pass down, or frees its memory.
// It returns the size of the item.
func (t *Table) sweepOldest(now int64) int {
	at := t.ring.tail
	m := t.metaOf(at)
	size := t.sizeOf(m)
	switch {
	case m&metaLive == 0:
		t.ring.dead -= size
		t.ring.pass(size)
	case !t.pins.any() && t.expired(at, m, now):
		t.stats.Expired++
		t.remove(t.entryOf(at, m))
		t.markDead(at)
		t.count(m, -1)
		t.ring.pass(size)
	default:
		if expires := t.expiresOf(at, m); expires != 0 {
			t.sooner = min(t.sooner, expires)
		}
		t.slideOldest()
	}
	if !t.ring.wrapped {
		t.soonest, t.sooner = t.sooner, math.MaxInt64
	}
	t.swept += uint64(size)
	return size
}

// sweepShare does the part of a pass that is due when size bytes are put. The pass ends
// when Puts have used three quarters of the memory that was free above the items at its
// beginning. sweepShare returns whether items may have been moved.
//
// A pass begins when more is dead than is free above the items. At its end all memory that
// was free or dead at its beginning is free above the items, less what was put meanwhile,
// which is less than half of it. So the work for a byte put is bounded by the share of the
// memory that is not live.
func (t *Table) sweepShare(size int, now int64) bool {
	if !t.ring.wrapped && (!t.passIsDue(now) || !t.beginPass()) {
		return false
	}
	for share := t.pace*size + lineSize; share > 0 && t.ring.wrapped; {
		share -= t.sweepOldest(now)
	}
	return true
}

// passIsDue reports whether a pass should begin: for dead items, or to reclaim expired
// ones before memory runs short.
func (t *Table) passIsDue(now int64) bool {
	dead, above := t.ring.dead, t.above()
	if dead > 0 && dead >= above {
		return true
	}
	return now >= t.soonest && above+dead < 2*len(t.mem)/freeShare
}

// reclaimExpired reclaims expired items in a part of the log.
func (t *Table) reclaimExpired(now int64) {
	began := false
	for left := reclaimBytes; left > 0; {
		if !t.ring.wrapped {
			if began || !t.beginPass() {
				return
			}
			began = true
		}
		left -= t.sweepOldest(now)
	}
}
