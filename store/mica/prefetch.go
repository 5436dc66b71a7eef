package mica

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// PrefetchIndex starts to load the first line of the bucket of a hash.
func (t *Table) PrefetchIndex(hash uint64) {
	fence.ExpectRead(&t.line(t.bucketOf(hash))[0])
}

// lead is where PrefetchItems came across an item that may be the one of a hash: the
// next Get need not look for it again, if no item was moved or removed since (M2).
type lead struct {
	hash     uint32 // upper half
	position uint32 // 0 for none
}

// leadCount is how many leads are kept: several times as many as a batch has, since
// a hash has only one place.
const leadCount = 64

// leave leaves a lead.
func (t *Table) leave(hash uint64, position uint32) {
	t.leads[hash%leadCount] = lead{uint32(hash >> 32), position}
}

// freshen forgets leads from before the last change.
func (t *Table) freshen() {
	if t.leadsAt != t.changes {
		clear(t.leads[:])
		t.leadsAt = t.changes
	}
}

// byLead returns where the item of a key is, if there is a lead to it, else 0.
func (t *Table) byLead(k store.Key) int {
	l := t.leads[k.Hash%leadCount]
	if t.leadsAt != t.changes || l.position == 0 || l.hash != uint32(k.Hash>>32) {
		return 0
	}
	at := t.offset(l.position)
	if !t.hasKey(at, k.Bytes) {
		return 0
	}
	return at
}

// hint is a hash whose tag was not in the lines of its bucket so far, and the
// line where it may be.
type hint struct {
	hash uint64
	line uint32
}

// hintMost is how many hashes are followed together: a core keeps fewer loads on
// their way.
const hintMost = 32

// PrefetchItems reads the first lines of the buckets and starts to load what they
// say: the items that have the tag, or else the next line. When it has been at all
// of them it goes on with those lines.
func (t *Table) PrefetchItems(hashes []uint64) {
	t.freshen()
	for len(hashes) > hintMost {
		t.prefetchItems(hashes[:hintMost])
		hashes = hashes[hintMost:]
	}
	t.prefetchItems(hashes)
}

func (t *Table) prefetchItems(hashes []uint64) {
	n := 0
	for _, hash := range hashes {
		if next := t.prefetchLine(t.bucketOf(hash), hash); next != 0 {
			t.hints[n&(hintMost-1)] = hint{hash, next}
			n++
		}
	}
	for n != 0 {
		left := 0
		for _, h := range t.hints[:n] {
			if next := t.prefetchLine(uint64(h.line), h.hash); next != 0 {
				t.hints[left] = hint{h.hash, next}
				left++
			}
		}
		n = left
	}
}

// prefetchLine starts to load the items of a line that have the tag of the hash, and
// leaves a lead to the first. If there are none it does so with the next line, and
// returns its number.
func (t *Table) prefetchLine(number, hash uint64) (next uint32) {
	l := t.line(number)
	set := l.matches(tagOf(hash))
	if set == 0 {
		if next = l.next(); next != 0 {
			fence.ExpectRead(&t.line(uint64(next))[0])
		}
		return next
	}
	position := l.position(slotOf(set))
	t.leave(hash, position)
	fence.ExpectRead(&t.mem[t.offset(position)])
	for set &= set - 1; set != 0; set &= set - 1 {
		fence.ExpectRead(&t.mem[t.offset(l.position(slotOf(set)))])
	}
	return 0
}
