package mica

import (
	"slices"

	"github.com/remora-kv/remora/internal/fence"
)

// The size of the index follows the number of items: 65/8 of them for a line
// while it grows, so that it costs less than 8 bytes an item, and not less than
// 16/3, 12 bytes an item, before it shrinks.
const (
	growItems, growLines     = 65, 8
	bytesPerEntry            = float64(lineSize*growLines) / growItems
	shrinkItems, shrinkLines = 16, 3
)

// maxMerges bounds how many buckets the index shrinks by at the end of a call.
const maxMerges = 4

// adapt lets the index grow by a bucket, or shrink, if it should.
func (t *Table) adapt() {
	if uint64(t.stats.Items)*growLines < (t.lines()+1)*growItems {
		for merges := 0; merges < maxMerges && t.shrink(); {
			merges++
		}
	} else if t.lineIsFree() {
		t.splitNext()
	}
}

// shrink lets the index shrink by a bucket if it should, and says whether it has.
func (t *Table) shrink() bool {
	return uint64(t.stats.Items)*shrinkLines < (t.lines()-1)*shrinkItems && t.mergeLast()
}

// wantedLines is the number of lines that the index grows to for some items.
func wantedLines(items uint64) uint64 { return items * growLines / growItems }

// lineIsFree says whether the index may grow by a line: the log is not there.
func (t *Table) lineIsFree() bool { return t.bottom()-lineSize >= t.top() }

// splitNext splits the next bucket in turn. A line must be free. It never needs
// more, because two buckets have at most one line more than one that has the
// entries of both.
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

// addBucket makes the line behind the last bucket an empty one, which becomes
// the first of a bucket, and frees overflow lines that no bucket refers to.
func (t *Table) addBucket(freed []uint64) {
	number := t.buckets()
	switch {
	case len(freed) > 0:
		// The first overflow line moves to a place that is free already.
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
	// Until the caller has counted it as a bucket it is an overflow line.
	t.spill++
	t.freeAll(freed)
	t.spill--
}

// freeAll frees lines that no bucket refers to, given in ascending order. It
// begins with the last, so that none of them is moved.
func (t *Table) freeAll(lines []uint64) {
	for _, number := range slices.Backward(lines) {
		t.free(number)
	}
}

// mergeLast undoes the last split, unless the buckets have so many entries that
// hashes must collide.
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
	// The first line of the bucket that is no more is an overflow line now, and
	// the first of them.
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

// loosen takes all entries off a bucket and leaves it empty. The overflow lines
// that it had are unused.
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

// hashAt is the hash of the key of the item at an offset.
func (t *Table) hashAt(at int) uint64 { return t.hash(t.keyOf(at, t.metaOf(at))) }
