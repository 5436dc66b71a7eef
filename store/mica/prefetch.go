package mica

import "github.com/remora-kv/remora/internal/fence"

// PrefetchIndex starts to load the first line of the bucket of a hash.
func (t *Table) PrefetchIndex(hash uint64) {
	fence.ExpectRead(&t.mem[t.lineOffset(t.bucketOf(hash))])
}

// hint is a hash whose tag was not in the lines of its bucket so far, and the
// line where it may be.
type hint struct {
	line uint32
	tag  byte
}

// hintMost is how many hashes are followed together: a core keeps fewer loads on
// their way.
const hintMost = 64

// PrefetchItems reads the first lines of the buckets and starts to load what they
// say: the items that have the tag, or else the next line. When it has been at all
// of them it goes on with those lines.
func (t *Table) PrefetchItems(hashes []uint64) {
	for len(hashes) > hintMost {
		t.prefetchItems(hashes[:hintMost])
		hashes = hashes[hintMost:]
	}
	t.prefetchItems(hashes)
}

func (t *Table) prefetchItems(hashes []uint64) {
	n := 0
	for _, hash := range hashes {
		if next := t.prefetchLine(t.bucketOf(hash), tagOf(hash)); next != 0 {
			t.hints[n&(hintMost-1)] = hint{next, tagOf(hash)}
			n++
		}
	}
	for n != 0 {
		left := 0
		for _, h := range t.hints[:n] {
			if next := t.prefetchLine(uint64(h.line), h.tag); next != 0 {
				t.hints[left] = hint{next, h.tag}
				left++
			}
		}
		n = left
	}
}

// prefetchLine starts to load the items of a line that have the tag. If there are
// none it does so with the next line, and returns its number.
func (t *Table) prefetchLine(number uint64, tag byte) (next uint32) {
	l := t.line(number)
	set := l.matches(tag)
	if set == 0 {
		if next = l.next(); next != 0 {
			fence.ExpectRead(&t.mem[t.lineOffset(uint64(next))])
		}
		return next
	}
	for ; set != 0; set &= set - 1 {
		fence.ExpectRead(&t.mem[t.offset(l.position(slotOf(set)))])
	}
	return 0
}
