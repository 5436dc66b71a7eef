package cuckoo

import "fmt"

// place is where a key was found: its bucket, and the offset of its item, or 0 if the key
// was not found.
type place struct {
	bucket uint64
	off    uint64
}

// find looks for a key. If it is not at home, and no key has spilled from there, it does not
// exist (C9).
func (t *Table) find(hash uint64, key []byte) place {
	tag := t.tagOf(hash)
	home := t.homeOf(tag)
	if off := t.holds(home, tag, key); off != 0 {
		return place{home, off}
	}
	if t.word(home, 0)>>versionBits == 0 {
		return place{}
	}
	c := t.choicesOf(tag)
	for _, bucket := range c[1:] {
		if off := t.holds(bucket, tag, key); off != 0 {
			return place{bucket, off}
		}
	}
	return place{}
}

// holds returns the offset of the item if a bucket has this key, and 0 if not.
func (t *Table) holds(bucket, tag uint64, key []byte) uint64 {
	if t.word(bucket, 2)>>lengthBits != tag {
		return 0
	}
	if e := t.entryAt(bucket); !e.empty() && t.record(e.offset()).IsKey(key) {
		return e.offset()
	}
	return 0
}

// live is find, except that it drops the item if it has expired.
func (t *Table) live(hash uint64, key []byte, now int64) place {
	p := t.find(hash, key)
	if p.off != 0 && t.record(p.off).Expired(now) {
		t.heap.Stats.Expired++
		t.drop(p)
		return place{}
	}
	return p
}

// locate returns the place of an item, which must be in the index.
func (t *Table) locate(off uint64) place {
	for _, bucket := range t.choicesOf(t.tagOf(t.record(off).Hash())) {
		if e := t.entryAt(bucket); !e.empty() && e.offset() == off {
			return place{bucket, off}
		}
	}
	panic(fmt.Sprintf("cuckoo: the item at %d has no entry: the memory is corrupt", off))
}

// enter puts the entry of a new key into an empty bucket, one of its choices (C6).
func (t *Table) enter(bucket uint64, e entry) {
	if home := t.homeOf(e.tag()); bucket != home {
		t.countSpill(home, 1)
	}
	t.write(bucket, e, 0)
}

// leave clears a bucket (C8).
func (t *Table) leave(bucket uint64) {
	tag := t.word(bucket, 2) >> lengthBits
	t.write(bucket, entry{}, 0)
	if home := t.homeOf(tag); bucket != home {
		t.countSpill(home, -1)
	}
}

// moveEntry moves the entry of a bucket to an empty one of its choices (C9).
func (t *Table) moveEntry(from, to uint64) {
	e := t.entryAt(from)
	home := t.homeOf(e.tag())
	t.write(to, e.item(), -one(to == home))
	t.write(from, entry{}, one(from == home))
}

// one returns 1 for true and 0 for false.
func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// rename makes the entry of a key name another item.
func (t *Table) rename(bucket uint64, e entry) { t.write(bucket, e, 0) }
