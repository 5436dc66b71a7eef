package lru8

import (
	"fmt"

	"github.com/remora-kv/remora/store"
)

// census is what Check has counted.
type census struct {
	items, chains, frees  int
	keyBytes, valueBytes  int64
	mortal                int64
	freeBytes, chainBytes uint64
	slots, links, listed  int
}

// Check reads all blocks, then the index, then the lists of free blocks, and
// compares what it counted. Every item has looked for its own slot by then, so
// that as many slots as items means that no slot leads elsewhere.
func (t *Table) Check() error {
	var c census
	for _, check := range []func(*census) error{t.checkBlocks, t.checkIndex, t.checkLists, t.checkCounts} {
		if err := check(&c); err != nil {
			return err
		}
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("lru8: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// checkBlocks walks from block to block (L4, L6).
func (t *Table) checkBlocks(c *census) error {
	s := &t.space
	off, prevSize, prevKind, handFound := s.first, uint64(0), kindNone, s.hand == s.end
	for off < s.end {
		h := s.head(off)
		if h.size() < minBlock || h.size() > s.end-off || h.prevSize() != prevSize {
			return corrupt("block at %d: head %#x, in %d bytes behind a block of %d", off, uint64(h), s.end-off, prevSize)
		}
		if err := t.checkBlock(c, off, h, prevKind == kindFree && h.size()+prevSize <= maxJoin); err != nil {
			return err
		}
		handFound = handFound || off == s.hand
		off, prevSize, prevKind = off+h.size(), h.size(), h.kind()
	}
	if h := s.head(s.end); h != newHead(kindEnd, 0, prevSize) {
		return corrupt("end at %d: head %#x", s.end, uint64(h))
	}
	if !handFound {
		return corrupt("the hand at %d is at no block", s.hand)
	}
	return nil
}

func (t *Table) checkBlock(c *census, off uint64, h head, behindFree bool) error {
	switch h.kind() {
	case kindFree:
		if behindFree {
			return corrupt("free blocks before and at %d", off)
		}
		c.frees++
		c.freeBytes += h.size()
		return nil
	case kindChain:
		if t.caches() || h.size()-chainBlock >= minBlock {
			return corrupt("overflow bucket at %d of %d bytes", off, h.size())
		}
		c.chains++
		c.chainBytes += h.size()
		return nil
	case kindItem:
		return t.checkItem(c, off, h.size())
	case kindNone, kindEnd:
	}
	return corrupt("block at %d is of no kind", off)
}

// checkItem reads an item, and looks for its slot.
func (t *Table) checkItem(c *census, off, size uint64) error {
	if size < atKey {
		return corrupt("item at %d has %d bytes", off, size)
	}
	need := roundUp(atKey + t.keySize(off) + t.valueSize(off))
	sums := t.word(off + atHeadSum)
	switch {
	case need > size || size-need >= minBlock:
		return corrupt("item at %d of %d bytes has a block of %d", off, need, size)
	case uint32(sums) != t.headSum(off) || uint32(sums>>32) != t.bodySum(off):
		return corrupt("item at %d, key %.20q: the checksums do not fit", off, t.keyOf(off))
	case t.version(off) <= t.cfg.FirstVersion || t.version(off) > t.last:
		return corrupt("item at %d has version %d, the last is %d", off, t.version(off), t.last)
	}
	c.items++
	c.keyBytes += int64(t.keySize(off))
	c.valueBytes += int64(t.valueSize(off))
	c.mortal += dies(t.expires(off))
	found := 0
	err := t.eachSlot(t.bucketOf(t.hash(off)), func(w slot) error {
		if w.unused() == slotFor(off, t.hash(off)) {
			found++
		}
		return nil
	})
	if err == nil && found != 1 {
		err = corrupt("item at %d, key %.20q: found %d times in its bucket", off, t.keyOf(off), found)
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

// eachSlot visits the slots in use of a bucket and its chain, links included
// (L2, L3).
func (t *Table) eachSlot(i uint64, visit func(w slot) error) error {
	b := t.bucketAt(i)
	for depth := 0; ; depth++ {
		n := b.count()
		for j := range slots {
			w := b.slot(j)
			switch {
			case (w != 0) != (j < n):
				return corrupt("bucket %d has a gap", i)
			case w == 0:
				continue
			case w.offset() < t.space.first || w.offset() >= t.space.end:
				return corrupt("bucket %d: slot %#x leads out of the memory", i, uint64(w))
			case w.isLink() && (t.caches() || j != slots-1 || w.tag() != 0 || w.isUsed() || depth == maxChain || t.space.head(w.offset()).kind() != kindChain):
				return corrupt("bucket %d: slot %#x is no link", i, uint64(w))
			}
			if err := visit(w); err != nil {
				return err
			}
		}
		if depth > 0 && n < 2 {
			return corrupt("bucket %d: an overflow bucket has %d items", i, n)
		}
		link := b.slot(slots - 1)
		if !link.isLink() {
			return nil
		}
		b = t.chained(link)
	}
}

// checkLists walks the lists of free blocks.
func (t *Table) checkLists(c *census) error {
	s := &t.space
	for bin, off := range s.heads {
		if (off != 0) != (s.full[bin/64]>>(bin%64)&1 != 0) {
			return corrupt("bin %d is marked wrongly", bin)
		}
		for prev := uint64(0); off != 0; off = s.link(off, nextLink) {
			if off < s.first || off >= s.end || off%unit != 0 {
				return corrupt("bin %d leads to %d", bin, off)
			}
			h := s.head(off)
			if h.kind() != kindFree || binOf(h.size()) != bin || s.link(off, prevLink) != prev {
				return corrupt("bin %d leads to %d, head %#x", bin, off, uint64(h))
			}
			if c.listed++; c.listed > c.frees {
				return corrupt("more free blocks are listed than the %d there are", c.frees)
			}
			prev = off
		}
	}
	return nil
}

// checkCounts compares what the other checks counted with each other and with
// the table's own numbers.
func (t *Table) checkCounts(c *census) error {
	st := &t.stats
	switch {
	case c.slots != c.items || int64(c.items) != st.Items:
		return corrupt("%d items, %d slots; Stats has %d", c.items, c.slots, st.Items)
	case c.links != c.chains || int64(c.chainBytes) != t.chainBytes:
		return corrupt("%d overflow buckets of %d bytes, %d links; the table has %d bytes", c.chains, c.chainBytes, c.links, t.chainBytes)
	case c.listed != c.frees || c.freeBytes != t.space.free:
		return corrupt("%d free blocks of %d bytes, %d listed; the table has %d bytes", c.frees, c.freeBytes, c.listed, t.space.free)
	case c.mortal != t.mortal:
		return corrupt("%d items will expire; the table has %d", c.mortal, t.mortal)
	case c.keyBytes != st.KeyBytes || c.valueBytes != st.ValueBytes:
		return corrupt("keys of %d and values of %d bytes; Stats has %d and %d", c.keyBytes, c.valueBytes, st.KeyBytes, st.ValueBytes)
	}
	return nil
}
