package cuckoo

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// census is what Check has counted.
type census struct {
	extent.Counts
	entries    int64
	away       uint64 // entries that are not at home
	spilled    uint64 // what the buckets count of them
	overflowed bool   // a count is maxSpill, and says nothing
}

// Check reads all blocks, then the index, and compares what it counted. Every item has
// looked for its own entry by then, so that as many entries as items means that no entry
// leads elsewhere (C2).
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

// checkItem reads an item, and looks for its entry.
func (t *Table) checkItem(c *census, off uint64, k extent.Kind) error {
	size := t.heap.Size(off)
	if size < atKey || k > used {
		return corrupt("block at %d has %d bytes and is of kind %d", off, size, k)
	}
	r := t.record(off)
	need := extent.RoundUp(atBody + r.Size())
	switch {
	case need > size || size-need >= extent.MinBlock:
		return corrupt("item at %d of %d bytes has a block of %d", off, need, size)
	case t.heap.Word(off+atHeadSum) != headSum(t.heap.Mem()[off+atBodySum:]) || t.heap.Word(off+atBodySum) != bodySum(r):
		return corrupt("item at %d, key %.20q: the checksums do not fit", off, r.Key())
	case !t.heap.Gave(r.Version()):
		return corrupt("item at %d has version %d, the last is %d", off, r.Version(), t.heap.Last)
	}
	c.Count(r, 1)
	found, want := 0, t.entryFor(off)
	for _, bucket := range t.choicesOf(want.tag()) {
		e := t.entryAt(bucket)
		found += one(e.item() == want)
	}
	if found != 1 {
		return corrupt("item at %d, key %.20q: found %d times in its buckets", off, r.Key(), found)
	}
	return nil
}

// checkIndex reads every bucket (C4, C9).
func (t *Table) checkIndex(c *census) error {
	for bucket := range t.buckets {
		e := t.entryAt(bucket)
		if e.sum() != t.word(bucket, 3) {
			return corrupt("bucket %d: the checksum does not fit", bucket)
		}
		c.spilled += e.spill()
		c.overflowed = c.overflowed || e.spill() == maxSpill
		if e.empty() {
			if e.item() != (entry{}) {
				return corrupt("bucket %d is empty and has an item", bucket)
			}
			continue
		}
		c.entries++
		if home := t.homeOf(e.tag()); home != bucket {
			c.away++
			if at := t.entryAt(home); at.spill() == 0 {
				return corrupt("bucket %d: what is in it has spilled from %d, which does not know", bucket, home)
			}
		}
	}
	return nil
}

// checkCounts compares the counts of the other checks with each other and with the
// table's own numbers.
func (t *Table) checkCounts(c *census) error {
	switch {
	case c.Counts != t.heap.Counts:
		return corrupt("found %+v; the table has %+v", c.Counts, t.heap.Counts)
	case c.entries != c.Items:
		return corrupt("%d items, %d entries", c.Items, c.entries)
	case c.away != c.spilled && !c.overflowed:
		return corrupt("%d keys have spilled, the buckets count %d", c.away, c.spilled)
	}
	return nil
}
