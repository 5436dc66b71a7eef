package lru8

// Which items a cache gives up when the memory is full: first the last ones of
// some buckets, then neighbours (sweep.go). The package doc says why.
const (
	// visits is how many buckets are looked at for a Put.
	visits = 32
	// victims is how many of them give up their last item, at most.
	victims = 8
	// spares is how many are let off because that item was used.
	spares = 16
)

// vacate evicts the last item of a full bucket, and says whether it was full.
func (t *Table) vacate(b bucket, now int64) bool {
	last := b.slot(slots - 1)
	if last == 0 {
		return false
	}
	t.evict(place{b, slots - 1, last.offset()}, now)
	t.space.Give(last.offset())
	return true
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

// evictFor evicts until there is a block of need bytes, and takes it. It cannot
// fail, since all of the memory could become one block.
func (t *Table) evictFor(need uint64, now int64, move bool) uint64 {
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
	t.passUsed()
	return t.sweep(need, now, move)
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

// passUsed has the hand pass items that were used.
func (t *Table) passUsed() {
	s := &t.space
	for range spares {
		if s.Hand() == s.End() {
			s.SetHand(s.First())
		}
		if s.Kind(s.Hand()) != kindItem {
			return
		}
		if p := t.locate(s.Hand()); !t.spare(p.b, p.i) {
			return
		}
		s.SetHand(s.Next(s.Hand()))
	}
}
