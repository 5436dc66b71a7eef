package mica

import "math"

// spareLines returns how many lines a Cache keeps free for an index of this many,
// because buckets overflow and shrink at random. That varies as the square root of their
// number; a 64th is added for drift.
func spareLines(lines uint64) uint64 {
	return lines>>6 + 3*uint64(math.Sqrt(float64(lines)))
}

// mostShare limits the index to a third of the memory. With the smallest items it needs a
// fourth.
const mostShare = 3

// smallestIndex is the size of the index and its spare lines without items.
const smallestIndex = 4 * lineSize

// ceiling returns the offset where the log of a Cache turns. It leaves the index as many
// lines as it should have (wantedItems), and a few spare ones.
func (t *Table) ceiling() int {
	lines := t.lines()
	wanted := min(wantedLines(t.wantedItems()), uint64(len(t.mem)/lineSize/mostShare))
	wanted = max(wanted, lines) + spareLines(lines)
	return t.firstLine + lineSize - int(wanted)*lineSize
}

// wantedItems returns how many items the index should have room for: the present ones
// plus those displaced for want of a line since the log turned (starved). Or, if that is
// more, as many as the log would hold if all had the recent average size and the same
// part of it were live.
func (t *Table) wantedItems() uint64 {
	live := float64(t.stats.ItemBytes)
	items := float64(len(t.mem)) / (t.average + bytesPerEntry) * live / (live + float64(t.ring.dead) + 1)
	return max(uint64(t.stats.Items)+t.starved, uint64(items))
}

// averageIn adds the size of an item to the moving average. Its window is about a
// quarter as many Puts as there are items.
func (t *Table) averageIn(size int) {
	if t.average == 0 {
		t.average = float64(size)
	}
	t.average += (float64(size) - t.average) * 4 / float64(t.stats.Items+16)
}

// fits reports whether an item of this size can be stored by evicting others. If
// the index must shrink to its minimum for that, it evicts all.
func (t *Table) fits(size int, now int64) bool {
	if size > t.firstLine+lineSize-smallestIndex-logStart {
		return false
	}
	// Smaller items always fit: the index never takes that much.
	if size > len(t.mem)/4 && logStart+size > t.ceiling() {
		t.evictAll(now)
	}
	return true
}

// makeRoom takes size bytes, which must fit, at the head of the log and returns their
// offset. It evicts the oldest items until there is room. It spares used items, unless
// still says that no item may move.
func (t *Table) makeRoom(size int, now int64, still bool) int {
	spared := t.earnSparing()
	r := &t.ring
	for {
		if r.empty() {
			r.reset()
		}
		switch {
		case r.wrapped && r.tail-r.head >= size, !r.wrapped && r.head+size <= t.ceiling():
			at := r.head
			r.head += size
			t.prefetchVictim()
			return at
		case !r.wrapped:
			r.turn()
			t.starved, t.victim = 0, victim{}
		case t.spares && !still && t.takeSpared(&spared, now):
			t.slideOldest()
		default:
			t.evictOldest(now)
		}
	}
}

// Sparing is bounded, because the work of a Put must not depend on how many items were
// used: a few for each Put, and more at a time after Puts that spared none, since used
// items come in groups.
const (
	sparedEach  = 8
	sparedMost  = 128
	sparedBytes = 64 << 10 // at a time, unless the first item is larger
)

// sparing is how many items a call may still spare, and how many bytes it has spared.
type sparing struct{ items, bytes int }

// earnSparing returns how much a Put may spare.
func (t *Table) earnSparing() sparing {
	t.credit = min(t.credit+sparedEach, sparedMost)
	return sparing{items: t.credit}
}

// takeSpared reports whether the oldest item is to be spared. If so, it clears the
// item's mark of use.
func (t *Table) takeSpared(s *sparing, now int64) bool {
	at := t.ring.tail
	m := t.metaOf(at)
	if m&metaLive == 0 || !t.isUsed(at, m) || s.items == 0 || t.expired(at, m, now) {
		return false
	}
	size := t.sizeOf(m)
	if s.bytes > 0 && s.bytes+size > sparedBytes {
		return false
	}
	s.bytes += size
	s.items--
	t.credit--
	t.mem[at+stateAt] &^= stateUsed
	t.forgetUses(at)
	t.stats.Rescued++
	return true
}
