package mica

import "github.com/remora-kv/remora/internal/fence"

// PrefetchIndex starts to load the first line of the bucket of a hash.
func (t *Table) PrefetchIndex(hash uint64) {
	fence.ExpectRead(&t.mem[t.lineOffset(t.bucketOf(hash))])
}

// PrefetchItem reads the first line of the bucket of a hash and starts to load
// what it says: the items that have the tag, or the next line. It does not read
// that line, which would be to wait.
func (t *Table) PrefetchItem(hash uint64) {
	l := t.line(t.bucketOf(hash))
	set := l.matches(tagOf(hash))
	if set == 0 {
		if next := l.next(); next != 0 {
			fence.ExpectRead(&t.mem[t.lineOffset(uint64(next))])
		}
		return
	}
	for ; set != 0; set &= set - 1 {
		fence.ExpectRead(&t.mem[t.offset(l.position(slotOf(set)))])
	}
}
