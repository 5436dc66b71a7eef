package mica

import (
	"slices"

	"github.com/remora-kv/remora/internal/fence"
)

// The index grows while it has fewer than one line for 65/8 items, so that it costs less
// than 8 bytes an item. It shrinks when it has more than one for 16/3, 12 bytes an item.
const (
	growItems, growLines     = 65, 8
	bytesPerEntry            = float64(lineSize*growLines) / growItems
	shrinkItems, shrinkLines = 16, 3
)

// maxMerges bounds how many buckets a call merges.
const maxMerges = 4

// adapt grows the index by a bucket, or shrinks it, if the number of items demands it.
func (t *Table) adapt() {
	if uint64(t.stats.Items)*growLines < (t.lines()+1)*growItems {
		for merges := 0; merges < maxMerges && t.shrink(); {
			merges++
		}
	} else if t.lineIsFree() {
		t.splitNext()
	}
}

// shrink merges the last bucket if the index is too large, and reports whether it did.
func (t *Table) shrink() bool {
	return uint64(t.stats.Items)*shrinkLines < (t.lines()-1)*shrinkItems && t.mergeLast()
}

// wantedLines returns the number of lines that the index grows to for this many items.
func wantedLines(items uint64) uint64 { return items * growLines / growItems }

// lineIsFree reports whether the index can grow by a line without meeting the log.
func (t *Table) lineIsFree() bool { return t.bottom()-lineSize >= t.top() }

// splitNext splits the next bucket in turn. One line must be free. No more are needed,
// because two buckets need at most one line more than one bucket with the entries of
// both.
func (t *Table) splitNext() {
	from, to := t.split, t.buckets()
	entries, freed := t.loosen(from, t.loose[:0], t.freed[:0])
	for _, e := range entries {
		fence.ExpectRead(&t.mem[t.offset(e.position)])
	}
	t.addBucket(freed)
	bit := t.mask + 1
	if t.split++; t.split == bit {
		t.mask, t.split = t.mask<<1|1, 0
	}
	for _, e := range entries {
		bucket := from
		if t.hashAt(t.offset(e.position))&bit != 0 {
			bucket = to
		}
		c := t.chainOf(bucket, 0)
		t.push(&c, e.tag, e.position)
	}
}

// addBucket empties the line behind the last bucket, which becomes the first line of a
// new bucket, and frees overflow lines that no bucket refers to.
func (t *Table) addBucket(freed []uint64) {
	number := t.buckets()
	switch {
	case len(freed) > 0:
		// Move the first overflow line to a free place.
		slices.Sort(freed)
		if freed[0] != number {
			t.move(number, freed[0])
		}
		t.spill--
		freed = freed[1:]
	case t.spill > 0:
		t.move(number, t.lines())
	}
	*t.line(number) = line{}
	// It counts as an overflow line until the caller has counted it as a bucket.
	t.spill++
	t.freeAll(freed)
	t.spill--
}

// freeAll frees lines that no bucket refers to, given in ascending order. It
// begins with the last, so that it moves none of them.
func (t *Table) freeAll(lines []uint64) {
	for _, number := range slices.Backward(lines) {
		t.free(number)
	}
}

// mergeLast undoes the last split, unless the two buckets have so many entries that
// many hashes must collide. It reports whether it did.
func (t *Table) mergeLast() bool {
	mask, last := t.mask, t.buckets()-1
	if t.split == 0 {
		mask >>= 1
	}
	into := last - (mask + 1)
	a, b := t.chainOf(into, 0), t.chainOf(last, 0)
	if a.entries()+b.entries() > maxEntries/2 {
		return false
	}
	entries, freed := t.loosen(into, t.loose[:0], t.freed[:0])
	entries, freed = t.loosen(last, entries, freed)
	t.mask, t.split = mask, into
	// The first line of the removed bucket is now an overflow line, the first of all.
	t.spill++
	freed = append(freed, last)
	slices.Sort(freed)
	t.freeAll(freed)
	for _, e := range entries {
		c := t.chainOf(into, 0)
		t.push(&c, e.tag, e.position)
	}
	return true
}

// loosen takes all entries off a bucket, appends them to entries, and appends the
// overflow lines that it had to freed.
func (t *Table) loosen(bucket uint64, entries []looseEntry, freed []uint64) ([]looseEntry, []uint64) {
	for number := bucket; ; {
		l := t.line(number)
		for i := range l.entries() {
			entries = append(entries, looseEntry{l.position(i), l[i]})
		}
		next := l.next()
		if next == 0 {
			break
		}
		number = uint64(next)
		freed = append(freed, number)
	}
	*t.line(bucket) = line{}
	return entries, freed
}

// hashAt returns the hash of the key of the item at an offset.
func (t *Table) hashAt(at int) uint64 { return t.hash(t.keyOf(at, t.metaOf(at))) }
