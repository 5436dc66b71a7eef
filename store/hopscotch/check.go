package hopscotch

import (
	"fmt"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/internal/extent"
)

// census is the counts of Check.
type census struct {
	extent.Counts
	inlines       int64
	blocks, leads int64 // blocks in use, and words that point to one
}

// Check verifies all blocks, then the slots, then the chains, and compares the counts.
// Every item has found the word that points to it by then, so an equal number of leads and
// blocks means that no word points elsewhere.
func (t *Table) Check() error {
	var c census
	err := t.heap.Check(func(off uint64, k extent.Kind) error { return t.checkBlock(&c, off, k) })
	if err != nil {
		return fmt.Errorf("hopscotch: %w: %w", store.ErrCorrupt, err)
	}
	for i := range t.homes + reach - 1 {
		if err := t.checkSlot(&c, i); err != nil {
			return err
		}
	}
	for h := range t.homes {
		if err := t.checkHome(&c, h); err != nil {
			return err
		}
	}
	return t.checkCounts(&c)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("hopscotch: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// checkRecord verifies an item, whose lengths are known to be inside the memory.
func (t *Table) checkRecord(c *census, r extent.Record, beside link, want uint64) error {
	switch {
	case sum(r, t.seed, beside) != want:
		return corrupt("key %.20q: checksum mismatch", r.Key())
	case !t.heap.Gave(r.Version()):
		return corrupt("key %.20q has version %d, the last one assigned is %d", r.Key(), r.Version(), t.heap.Last)
	}
	c.Count(r, 1)
	return nil
}

// checkBlock verifies the item in a block, and looks for the word that points to it.
func (t *Table) checkBlock(c *census, off uint64, k extent.Kind) error {
	size := t.heap.Size(off)
	if size < atKey || k != extent.Taken {
		return corrupt("item at %d has a block of kind %d, %d bytes", off, k, size)
	}
	r := t.block(off)
	if need := extent.RoundUp(atBody + r.Size()); need > size || size-need >= extent.MinBlock {
		return corrupt("item at %d needs %d bytes, but its block has %d", off, need, size)
	}
	if err := t.checkRecord(c, r, t.next(off), t.heap.Word(off+atSum)); err != nil {
		return fmt.Errorf("item at %d: %w", off, err)
	}
	c.blocks++
	found, h := 0, t.homeOf(r.Hash())
	for i := h; i < h+reach; i++ {
		if t.home(h).holds(i-h) && t.lead(i).offset() == off {
			found++
		}
	}
	err := t.eachOfChain(h, func(at uint64) error {
		if at == off {
			found++
		}
		return nil
	})
	if err == nil && found != 1 {
		err = corrupt("item at %d, key %.20q: found %d times in its home, want once", off, r.Key(), found)
	}
	return err
}

// checkSlot verifies the words of a slot and its inline item (H2, H3).
func (t *Table) checkSlot(c *census, i uint64) error {
	l, v := t.lead(i), t.label(i)
	if v == 0 && l == 0 {
		return nil
	}
	place := l.mark().place()
	if v.version() == 0 || l.mark() != v.mark() || place >= reach || place > i || i-place >= t.homes {
		return corrupt("slot %d: lead %#x and label %#x do not match", i, uint64(l), uint64(v))
	}
	if w := t.home(i - place); !w.holds(place) || w.mark(place) != l.mark() {
		return corrupt("slot %d: lead %#x does not match the word of home %d, %#x", i, uint64(l), i-place, uint64(w))
	}
	if l.offset() == 0 {
		return t.checkInline(c, i, i-place)
	}
	c.leads++
	off := l.offset()
	if !t.isInside(off) {
		return corrupt("slot %d points to %d, where no item can be", i, off)
	}
	r := t.block(off)
	if l != newLead(off, t.classAt(off), r.Hash(), l.mark()) || v&^creditMask != newLabel(r.Version(), l.mark()) {
		return corrupt("slot %d: lead %#x or label %#x does not match its item of version %d", i, uint64(l), uint64(v), r.Version())
	}
	return nil
}

func (t *Table) checkInline(c *census, i, h uint64) error {
	l, v := t.lead(i), t.label(i)
	if t.slotSize != inlineSlot {
		return corrupt("slot %d holds an inline item, for which the slots of this table have no room", i)
	}
	r := t.inline(i)
	if !r.IsWhole() || l != newLead(0, 0, r.Hash(), l.mark()) || v&^creditMask != newLabel(r.Version(), l.mark()) || t.homeOf(r.Hash()) != h {
		return corrupt("slot %d: lead %#x or label %#x does not match its inline item", i, uint64(l), uint64(v))
	}
	c.inlines++
	if err := t.checkRecord(c, r, 0, t.slotWord(i, atInlineSum)); err != nil {
		return fmt.Errorf("slot %d: %w", i, err)
	}
	return nil
}

// checkHome verifies that the slots that a home names are its own, and checks its chain.
func (t *Table) checkHome(c *census, h uint64) error {
	w := t.home(h)
	for i := range uint64(reach) {
		if w.holds(i) && (t.label(h+i) == 0 || t.lead(h+i).mark() != w.mark(i)) {
			return corrupt("home %d: word %#x does not match lead %#x of place %d", h, uint64(w), uint64(t.lead(h+i)), i)
		}
	}
	if t.heap.Caches() && t.chain(h) != 0 {
		return corrupt("home %d of a cache has a chain", h)
	}
	return t.eachOfChain(h, func(uint64) error {
		c.leads++
		return nil
	})
}

// eachOfChain visits the items of a chain, and verifies the links.
func (t *Table) eachOfChain(h uint64, visit func(off uint64) error) error {
	n := 0
	for l := t.chain(h); l != 0; l = t.next(l.offset()) {
		if n++; n > maxChain {
			return corrupt("home %d has a chain of more than %d items", h, maxChain)
		}
		if !t.isInside(l.offset()) || l != t.linkTo(l.offset()) {
			return corrupt("home %d: link %#x of its chain does not match an item", h, uint64(l))
		}
		if err := visit(l.offset()); err != nil {
			return err
		}
	}
	return nil
}

// isInside reports whether an item can be at off.
func (t *Table) isInside(off uint64) bool {
	return off >= t.heap.First() && off < t.heap.End() && t.heap.End()-off >= atKey
}

// checkCounts compares the counts of the other checks with the counters of the table.
func (t *Table) checkCounts(c *census) error {
	switch {
	case c.Counts != t.heap.Counts || c.inlines != t.inlines:
		return corrupt("found %+v, %d of them inline; the counters say %+v and %d", c.Counts, c.inlines, t.heap.Counts, t.inlines)
	case c.leads != c.blocks:
		return corrupt("%d items in blocks, but %d words that point to blocks", c.blocks, c.leads)
	}
	return nil
}
