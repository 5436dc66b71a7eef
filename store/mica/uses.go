package mica

import (
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// usesOf is how many bytes of the log share a count of uses by clients.
const usesOf = 64

// makeUses allocates the counts of uses, to which clients add. A client that writes
// anything else only affects which items are spared.
func (t *Table) makeUses(a *store.Arena, size int) (err error) {
	if size == 0 {
		return nil
	}
	if t.usesBlock, err = a.Export("mica uses", size, true); err == nil {
		t.uses = t.usesBlock.Bytes()
	}
	return err
}

// isUsed reports whether an item was used by a call or by a client's READ.
func (t *Table) isUsed(at int, m meta) bool {
	return m&metaUsed != 0 || t.uses != nil && fence.ObserveByte(&t.uses[at/usesOf]) != 0
}

// forgetUses clears the count of an item.
func (t *Table) forgetUses(at int) {
	if t.uses != nil {
		fence.PublishByte(&t.uses[at/usesOf], 0)
	}
}

// Used marks items as used, by the hashes of their keys. It marks the first item of the
// bucket that has the tag, which is the wrong one in one case of a hundred. It prefetches
// the memory of a whole batch. While no item was spared none has lost its mark, and an item
// that a client can READ was read or put by a call before; then there is nothing to do.
func (t *Table) Used(hashes []uint64) {
	for t.spares && t.stats.Rescued != 0 && len(hashes) > 0 {
		n := min(len(hashes), hintMost)
		t.used(hashes[:n])
		hashes = hashes[n:]
	}
}

func (t *Table) used(hashes []uint64) {
	for _, hash := range hashes {
		fence.ExpectRead(&t.line(t.bucketOf(hash))[0])
	}
	var found [hintMost]int
	n := 0
	for _, hash := range hashes {
		if at := t.tagged(hash); at != 0 {
			fence.ExpectWrite(&t.mem[at])
			found[n] = at
			n++
		}
	}
	for _, at := range found[:n] {
		if t.mem[at+stateAt]&stateUsed == 0 {
			t.mem[at+stateAt] |= stateUsed
		}
	}
}

// tagged returns the first item of the bucket that has the tag of a hash, or 0.
func (t *Table) tagged(hash uint64) int {
	for number := t.bucketOf(hash); ; {
		l := t.line(number)
		if set := l.matches(tagOf(hash)); set != 0 {
			return t.offset(l.position(slotOf(set)))
		}
		next := l.next()
		if next == 0 {
			return 0
		}
		number = uint64(next)
	}
}
