package mica

import "math/bits"

// index locates the lines. Lines 0 to buckets-1 are the first lines of the
// buckets, the spill lines behind them are overflow lines (M5).
type index struct {
	mask      uint64 // number of buckets at the beginning of this round, minus one
	split     uint64 // buckets below this one were split in this round
	spill     uint64
	firstLine int // offset of line 0

	// Scratch memory of a split or merge: entries taken off their lines, and lines freed.
	loose [maxEntries]looseEntry
	freed [2 * maxLines]uint64
}

type looseEntry struct {
	position uint32
	tag      byte
}

func (x *index) buckets() uint64 { return x.mask + 1 + x.split }

func (x *index) lines() uint64 { return x.buckets() + x.spill }

// bottom returns the offset of the last line, which is the lowest.
func (x *index) bottom() int { return x.firstLine - (int(x.lines())-1)*lineSize }

// bucketOf returns the number of the bucket, and of its first line, for a hash.
func (x *index) bucketOf(hash uint64) uint64 {
	b, wide := hash&x.mask, hash&(x.mask<<1|1)
	if b < x.split {
		b = wide // a conditional move: CPUs cannot predict this branch
	}
	return b
}

// slot is a place in the index that holds an entry, and the offset of its item. The
// zero slot is none.
type slot struct {
	line int // offset
	i    int
	at   int // offset of the item, 0 for none
}

// find returns the slot of the item with this key, expired or not, or the zero slot.
func (t *Table) find(hash uint64, key []byte) slot {
	tag := tagOf(hash)
	for at := t.lineOffset(t.bucketOf(hash)); ; {
		l := t.lineAt(at)
		for set := l.matches(tag); set != 0; set &= set - 1 {
			i := slotOf(set)
			item := t.offset(l.position(i))
			if t.hasKey(item, key) {
				return slot{at, i, item}
			}
		}
		next := l.next()
		if next == 0 {
			return slot{}
		}
		at = t.lineOffset(uint64(next))
	}
}

// hasKey reports whether the item at an offset has this key.
func (t *Table) hasKey(at int, key []byte) bool {
	m := t.metaOf(at)
	return m.keyLen() == len(key) && string(t.keyOf(at, m)) == string(key)
}

// locate returns the slot that refers to a position, which may be reserved, or
// the zero slot.
func (t *Table) locate(hash uint64, position uint32) slot {
	tag := tagOf(hash)
	for at := t.lineOffset(t.bucketOf(hash)); ; {
		l := t.lineAt(at)
		for set := l.matches(tag); set != 0; set &= set - 1 {
			i := slotOf(set)
			if l.position(i) == position {
				return slot{at, i, t.offset(position)}
			}
		}
		next := l.next()
		if next == 0 {
			return slot{}
		}
		at = t.lineOffset(uint64(next))
	}
}

// chain describes a bucket before an entry is added.
type chain struct {
	last  uint64 // number of the last line
	lines int
	used  int // entries of the last line
	alike int // entries with a given tag
}

func (t *Table) chainOf(bucket uint64, tag byte) chain {
	c := chain{last: bucket}
	for {
		l := t.line(c.last)
		c.lines++
		c.alike += bits.OnesCount64(l.matches(tag))
		next := l.next()
		if next == 0 {
			c.used = l.entries()
			return c
		}
		c.last = uint64(next)
	}
}

// full reports whether another entry needs another line.
func (c *chain) full() bool {
	if c.lines == 1 {
		return c.used == lineSlots
	}
	return c.used == spillSlots
}

// crowded reports whether a bucket has as many entries as it may have (M6).
func (c *chain) crowded() bool { return c.lines == maxLines && c.used == spillSlots }

// flooded reports whether a bucket has as many entries of the tag as a Put may make, so that
// keys with one hash, or with hashes made for the purpose, leave room to others (M6).
func (c *chain) flooded() bool { return c.alike >= maxAlike }

// entries returns the number of entries of the bucket (M5).
func (c *chain) entries() int {
	if c.lines == 1 {
		return c.used
	}
	return lineSlots + (c.lines-2)*spillSlots + c.used
}

// push adds an entry to a bucket that is not crowded. If the bucket is full, a line must
// be free.
func (t *Table) push(c *chain, tag byte, position uint32) {
	l := t.line(c.last)
	if c.full() {
		number := t.lines()
		t.spill++
		l.setNext(uint32(number))
		l = t.line(number)
		*l = line{}
		l.setBack(uint32(c.last))
		c.used = 0
	}
	l.set(c.used, tag, position)
}

// remove removes an entry. The last entry of the bucket takes its place, so
// that only the last line has room (M5).
func (t *Table) remove(s slot) {
	hole := t.lineAt(s.line)
	lastAt, last := s.line, hole
	for next := last.next(); next != 0; next = last.next() {
		lastAt = t.lineOffset(uint64(next))
		last = t.lineAt(lastAt)
	}
	i := last.entries() - 1
	hole.set(s.i, last[i], last.position(i))
	last.set(i, 0, 0)
	if number := t.lineNumber(lastAt); i == 0 && number >= t.buckets() {
		t.line(uint64(last.back())).setNext(0)
		t.free(number)
	}
}

func (x *index) lineNumber(offset int) uint64 { return uint64(x.firstLine-offset) / lineSize }

// free frees an overflow line that no bucket refers to. The last line takes
// its place, so that lines are dense.
func (t *Table) free(number uint64) {
	if last := t.lines() - 1; number != last {
		t.move(last, number)
	}
	t.spill--
}

// move moves an overflow line.
func (t *Table) move(from, to uint64) {
	l := t.line(to)
	*l = *t.line(from)
	t.line(uint64(l.back())).setNext(uint32(to))
	if next := l.next(); next != 0 {
		t.line(uint64(next)).setBack(uint32(to))
	}
}
