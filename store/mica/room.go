package mica

import "math"

// spareLines is how many lines a Cache keeps free for an index of that many,
// because buckets overflow and shrink again all the time: by chance, so that it
// is about the root of their number, and a bit for the drift.
func spareLines(lines uint64) uint64 {
	return lines>>6 + 3*uint64(math.Sqrt(float64(lines)))
}

// mostShare: the index asks for at most one byte of this many. The smallest items
// need it to have one of four.
const mostShare = 3

// smallestIndex is what the index and its spare lines take when there are no
// items.
const smallestIndex = 4 * lineSize

// ceiling is where the log of a Cache turns. It leaves to the index as many
// lines as it should have (wantedItems), and a few to spare.
func (t *Table) ceiling() int {
	lines := t.lines()
	wanted := min(wantedLines(t.wantedItems()), uint64(len(t.mem)/lineSize/mostShare))
	wanted = max(wanted, lines) + spareLines(lines)
	return t.firstLine + lineSize - int(wanted)*lineSize
}

// wantedItems is how many items the index should be made for: those that there
// are and those that did not find a place since the log turned (starved), or as
// many as the log would hold of those that were put lately, if as large a part
// of it is live as now.
func (t *Table) wantedItems() uint64 {
	live := float64(t.stats.ItemBytes)
	items := float64(len(t.mem)) / (t.average + bytesPerEntry) * live / (live + float64(t.ring.dead) + 1)
	return max(uint64(t.stats.Items)+t.starved, uint64(items))
}

// averageIn takes the size of an item that is put into the average. What it
// remembers are about as many Puts as a quarter of the items.
func (t *Table) averageIn(size int) {
	if t.average == 0 {
		t.average = float64(size)
	}
	t.average += (float64(size) - t.average) * 4 / float64(t.stats.Items+16)
}

// fits says whether an item of this size can be stored by evicting others. If
// the index must shrink to its least for that, it evicts all.
func (t *Table) fits(size int, now int64) bool {
	if size > t.firstLine+lineSize-smallestIndex-logStart {
		return false
	}
	// What is not large fits anyway: the index never takes that much.
	if size > len(t.mem)/4 && logStart+size > t.ceiling() {
		t.evictAll(now)
	}
	return true
}

// makeRoom returns the offset of size bytes at the head of the log, which are
// taken. It evicts the oldest items until there are as many. The size must fit.
// Items that were used are spared, unless still says that no item may move.
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
			t.foresee()
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

// What is spared is bounded, for the work of a Put must not depend on how many
// items were used: a few for each Put, and more at a time for Puts that spared
// none, since items that are used come in groups.
const (
	sparedEach  = 8
	sparedMost  = 128
	sparedBytes = 64 << 10 // at a time; more only if the first item is larger
)

// sparing is what one call may spare and has spared.
type sparing struct{ items, bytes int }

// earnSparing returns what a Put may spare.
func (t *Table) earnSparing() sparing {
	t.credit = min(t.credit+sparedEach, sparedMost)
	return sparing{items: t.credit}
}

// takeSpared says whether the oldest item is to be spared. If so, it does not
// count as used any more.
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
