package cuckoo

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// census is the counts of Check.
type census struct {
	extent.Counts
	entries    int64
	away       uint64 // entries that are not at home
	spilled    uint64 // sum of the buckets' counts of spilled keys
	overflowed bool   // a bucket's count is maxSpill, so that spilled is meaningless
}

// Check verifies all blocks, then the index, and compares the counts. Every item has found
// its own entry by then, so an equal number of entries and items means that no entry points
// elsewhere (C2).
func (t *Table) Check() error {
	var c census
	err := t.heap.Check(func(off uint64, k extent.Kind) error { return t.checkItem(&c, off, k) })
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return err
	case err != nil:
		return corrupt("%v", err)
	}
	if err := t.checkIndex(&c); err != nil {
		return err
	}
	return t.checkCounts(&c)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("cuckoo: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// checkItem verifies an item, and looks for its entry.
func (t *Table) checkItem(c *census, off uint64, k extent.Kind) error {
	size := t.heap.Size(off)
	if size < atKey || k > used {
		return corrupt("block at %d has %d bytes and is of kind %d", off, size, k)
	}
	r := t.record(off)
	need := extent.RoundUp(atBody + r.Size())
	switch {
	case need > size || size-need >= extent.MinBlock:
		return corrupt("item at %d needs %d bytes, but its block has %d", off, need, size)
	case t.heap.Word(off+atHeadSum) != headSum(t.heap.Mem()[off+atBodySum:]) || t.heap.Word(off+atBodySum) != bodySum(r):
		return corrupt("item at %d, key %.20q: checksum mismatch", off, r.Key())
	case !t.heap.Gave(r.Version()):
		return corrupt("item at %d has version %d, the last one assigned is %d", off, r.Version(), t.heap.Last)
	}
	c.Count(r, 1)
	found, want := 0, t.entryFor(off)
	for _, bucket := range t.choicesOf(want.tag()) {
		e := t.entryAt(bucket)
		found += one(e.item() == want)
	}
	if found != 1 {
		return corrupt("item at %d, key %.20q: found %d times in its buckets, want once", off, r.Key(), found)
	}
	return nil
}

// checkIndex verifies every bucket (C4, C9).
func (t *Table) checkIndex(c *census) error {
	for bucket := range t.buckets {
		e := t.entryAt(bucket)
		if e.sum() != t.word(bucket, 3) {
			return corrupt("bucket %d: checksum mismatch", bucket)
		}
		c.spilled += e.spill()
		c.overflowed = c.overflowed || e.spill() == maxSpill
		if e.empty() {
			if e.item() != (entry{}) {
				return corrupt("bucket %d is marked as empty but names an item", bucket)
			}
			continue
		}
		c.entries++
		if home := t.homeOf(e.tag()); home != bucket {
			c.away++
			if at := t.entryAt(home); at.spill() == 0 {
				return corrupt("bucket %d: its key spilled from %d, which counts no spilled keys", bucket, home)
			}
		}
	}
	return nil
}

// checkCounts compares the counts of the other checks with each other and with the
// counters of the table.
func (t *Table) checkCounts(c *census) error {
	switch {
	case c.Counts != t.heap.Counts:
		return corrupt("found %+v; the counters say %+v", c.Counts, t.heap.Counts)
	case c.entries != c.Items:
		return corrupt("%d items, but %d entries", c.Items, c.entries)
	case c.away != c.spilled && !c.overflowed:
		return corrupt("%d keys have spilled, but the buckets count %d", c.away, c.spilled)
	}
	return nil
}
