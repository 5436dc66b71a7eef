package mica

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// PrefetchIndex starts to load the first line of the bucket of a hash.
func (t *Table) PrefetchIndex(hash uint64) {
	fence.ExpectRead(&t.line(t.bucketOf(hash))[0])
}

// lookup is where PrefetchItems found an item that probably has a hash. The next Get
// need not search for it if no item was moved or removed since (M2).
type lookup struct {
	hash     uint32 // upper half
	position uint32 // 0 for none
}

// lookupCount is the number of lookups kept: several times the size of a batch, since
// a hash can be in one place only.
const lookupCount = 64

// remember keeps a lookup.
func (t *Table) remember(hash uint64, position uint32) {
	t.lookups[hash%lookupCount] = lookup{uint32(hash >> 32), position}
}

// forgetStale clears the lookups if they are older than the last change.
func (t *Table) forgetStale() {
	if t.lookupsAt != t.changes {
		clear(t.lookups[:])
		t.lookupsAt = t.changes
	}
}

// lookedUp returns the offset of the item of a key if a lookup has found it, else 0.
func (t *Table) lookedUp(k store.Key) int {
	l := t.lookups[k.Hash%lookupCount]
	if t.lookupsAt != t.changes || l.position == 0 || l.hash != uint32(k.Hash>>32) {
		return 0
	}
	at := t.offset(l.position)
	if !t.hasKey(at, k.Bytes) {
		return 0
	}
	return at
}

// hint is a hash whose tag was not found in the lines of its bucket so far, and the
// line to search next.
type hint struct {
	hash uint64
	line uint32
}

// hintMost is how many hashes are followed together: a CPU core has fewer loads in
// flight.
const hintMost = 32

// PrefetchItems reads the first lines of the buckets, and starts to load the items that
// have the tag, or else the next line. Then it goes on with the next lines of all
// buckets.
func (t *Table) PrefetchItems(hashes []uint64) {
	t.forgetStale()
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
// remembers the first. If there are none it starts to load the next line, and returns
// its number.
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
	t.remember(hash, position)
	fence.ExpectRead(&t.mem[t.offset(position)])
	for set &= set - 1; set != 0; set &= set - 1 {
		fence.ExpectRead(&t.mem[t.offset(l.position(slotOf(set)))])
	}
	return 0
}
