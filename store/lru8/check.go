package lru8

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// census is the counts of Check.
type census struct {
	extent.Counts
	slots         int64
	chains, links int
	chainBytes    uint64
}

// Check verifies all blocks and free lists, then the index, and compares the counts. Every
// item has found its own slot by then, so an equal number of slots and items means that no
// slot points elsewhere.
func (t *Table) Check() error {
	var c census
	for _, check := range []func(*census) error{t.checkSpace, t.checkIndex, t.checkCounts} {
		if err := check(&c); err != nil {
			return err
		}
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("lru8: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// checkSpace verifies all blocks (L6).
func (t *Table) checkSpace(c *census) error {
	err := t.heap.Check(func(off uint64, k extent.Kind) error { return t.checkBlock(c, off, k) })
	if err == nil || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return corrupt("%v", err)
}

func (t *Table) checkBlock(c *census, off uint64, k extent.Kind) error {
	size := t.heap.Size(off)
	switch k {
	case kindItem:
		return t.checkItem(c, off, size)
	case kindChain:
		if t.heap.Caches() || size-chainBlock >= extent.MinBlock {
			return corrupt("overflow bucket at %d has a block of %d bytes, or the table is a cache", off, size)
		}
		c.chains++
		c.chainBytes += size
		return nil
	default:
		return corrupt("block at %d: unknown kind", off)
	}
}

// checkItem verifies an item, and looks for its slot.
func (t *Table) checkItem(c *census, off, size uint64) error {
	if size < atKey {
		return corrupt("item at %d: its block of %d bytes is shorter than a header", off, size)
	}
	r := t.record(off)
	need := extent.RoundUp(atBody + r.Size())
	sums := t.heap.Word(off + atHeadSum)
	switch {
	case need > size || size-need >= extent.MinBlock:
		return corrupt("item at %d needs %d bytes, but its block has %d", off, need, size)
	case uint32(sums) != t.headSum(off) || uint32(sums>>32) != bodySum(r):
		return corrupt("item at %d, key %.20q: checksum mismatch", off, r.Key())
	case !t.heap.Gave(r.Version()):
		return corrupt("item at %d has version %d, the last one assigned is %d", off, r.Version(), t.heap.Last)
	}
	c.Count(r, 1)
	found := 0
	err := t.eachSlot(t.bucketOf(r.Hash()), func(w slot) error {
		if w.unused() == slotFor(off, r.Hash()) {
			found++
		}
		return nil
	})
	if err == nil && found != 1 {
		err = corrupt("item at %d, key %.20q: found %d times in its bucket, want once", off, r.Key(), found)
	}
	return err
}

// checkIndex counts slots and links.
func (t *Table) checkIndex(c *census) error {
	for i := range t.buckets {
		err := t.eachSlot(i, func(w slot) error {
			if w.isLink() {
				c.links++
			} else {
				c.slots++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachSlot visits the used slots of a bucket and its chain, links included, and verifies
// them (L2, L3).
func (t *Table) eachSlot(i uint64, visit func(w slot) error) error {
	b := t.bucketAt(i)
	for depth := 0; ; depth++ {
		n := b.count()
		for j := range slots {
			w := b.slot(j)
			switch {
			case (w != 0) != (j < n):
				return corrupt("bucket %d has an empty slot before a used one", i)
			case w == 0:
				continue
			case w.offset() < t.heap.First() || w.offset() >= t.heap.End():
				return corrupt("bucket %d: slot %#x points out of the memory", i, uint64(w))
			case w.isLink() && (t.heap.Caches() || j != slots-1 || w.tag() != 0 || w.isUsed() || depth == maxChain || t.heap.Kind(w.offset()) != kindChain):
				return corrupt("bucket %d: slot %#x is an invalid link", i, uint64(w))
			}
			if err := visit(w); err != nil {
				return err
			}
		}
		if depth > 0 && n < 2 {
			return corrupt("bucket %d: an overflow bucket has %d items, want at least 2", i, n)
		}
		link := b.slot(slots - 1)
		if !link.isLink() {
			return nil
		}
		b = t.chained(link)
	}
}

// checkCounts compares the counts of the other checks with each other and with
// the counters of the table.
func (t *Table) checkCounts(c *census) error {
	switch {
	case c.Counts != t.heap.Counts:
		return corrupt("found %+v; the counters say %+v", c.Counts, t.heap.Counts)
	case c.slots != c.Items:
		return corrupt("%d items, but %d slots", c.Items, c.slots)
	case c.links != c.chains || int64(c.chainBytes) != t.chainBytes:
		return corrupt("%d overflow buckets of %d bytes, but %d links; the counter says %d bytes", c.chains, c.chainBytes, c.links, t.chainBytes)
	}
	return nil
}
