package sharedlru

import (
	"fmt"

	"github.com/remora-kv/remora/store"
)

// census is the counts of Check.
type census struct {
	seen   []bool  // by chunk
	items  int     // in rows
	free   uint32  // chunks in free chains
	mortal int64   // items that have an expiry
	shares []share // without counters of events
}

// Check verifies the items row by row, the LRU list and the free chains, and compares the
// counts: every chunk is in exactly one of them (H3). It checks the whole table, whichever
// handle is called.
func (h *Handle) Check() error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	c := census{seen: make([]bool, t.chunks.fresh), shares: make([]share, len(t.shares))}
	for _, check := range []func(*census) error{t.checkRows, t.checkOrder, t.checkFree, t.checkCounts} {
		if err := check(&c); err != nil {
			return err
		}
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("sharedlru: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

// visit marks a chunk that something points to as seen.
func (t *Table) visit(c *census, at ref, want kind) error {
	switch {
	case at == 0 || at >= t.chunks.fresh:
		return corrupt("chunk %d was never used, but is pointed to; the first fresh chunk is %d", at, t.chunks.fresh)
	case c.seen[at]:
		return corrupt("chunk %d is in two places", at)
	case t.chunks.kindOf(at) != want:
		return corrupt("chunk %d is of kind %#x, not %#x", at, uint32(t.chunks.kindOf(at)), uint32(want))
	}
	c.seen[at] = true
	return nil
}

// visitRest visits the chunks behind the first one of a chain, and returns the length of the chain.
func (t *Table) visitRest(c *census, first ref) (n uint32, err error) {
	n = 1
	for at := t.chunks.link(first, atNext); at != 0; at = t.chunks.link(at, atNext) {
		if err := t.visit(c, at, kindBody); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// checkRows verifies all items (H5).
func (t *Table) checkRows(c *census) error {
	for bucket := range t.buckets {
		before, length := ref(0), 0
		for at := t.row(bucket); at != 0; at = t.chunks.link(at, atRowNext) {
			if err := t.visit(c, at, kindItem); err != nil {
				return err
			}
			if err := t.checkItem(c, at); err != nil {
				return err
			}
			if t.bucketOf(t.hash(at)) != bucket || t.chunks.link(at, atRowBefore) != before {
				return corrupt("the item at %d is in row %d, but has another hash or a wrong back link", at, bucket)
			}
			if length++; length > maxRow {
				return corrupt("row %d has more than %d items", bucket, maxRow)
			}
			before = at
		}
		c.items += length
	}
	return nil
}

// checkItem verifies an item and counts it.
func (t *Table) checkItem(c *census, at ref) error {
	n, err := t.visitRest(c, at)
	if err != nil {
		return err
	}
	switch {
	case n != t.size(at):
		return corrupt("the item at %d needs %d chunks, but has %d", at, t.size(at), n)
	case t.chunks.word(at, atHeadSum) != t.headSum(at) || t.chunks.word(at, atBodySum) != t.bodySum(at):
		return corrupt("the item at %d: checksum mismatch", at)
	case t.version(at) <= t.cfg.FirstVersion || t.version(at) > t.last:
		return corrupt("the item at %d has version %d, the last one assigned is %d", at, t.version(at), t.last)
	}
	s := &c.shares[store.PartitionOf(t.hash(at), len(c.shares))]
	s.items++
	s.keyBytes += int64(t.keySize(at))
	s.valueBytes += int64(t.valueSize(at))
	s.chunks += int64(n)
	c.mortal += dies(t.expires(at))
	return nil
}

// checkOrder verifies the LRU list, from the newest item to the oldest (H4).
func (t *Table) checkOrder(c *census) error {
	newer, n := ref(0), 0
	for at := t.order.newest; at != 0; at = t.chunks.link(at, atOlder) {
		if at >= t.chunks.fresh || t.chunks.kindOf(at) != kindItem || t.chunks.link(at, atNewer) != newer {
			return corrupt("the LRU list points to chunk %d, which is not an item or has a wrong back link", at)
		}
		if n++; n > c.items {
			return corrupt("the LRU list has more items than the %d in rows", c.items)
		}
		newer = at
	}
	if n != c.items || t.order.oldest != newer {
		return corrupt("the LRU list has %d items, the rows have %d; it ends at %d, but the oldest is %d", n, c.items, newer, t.order.oldest)
	}
	return nil
}

// checkFree verifies the free chains.
func (t *Table) checkFree(c *census) error {
	for at := t.chunks.firstFree; at != 0; at = t.chunks.link(at, atOlder) {
		if err := t.visit(c, at, kindFree); err != nil {
			return err
		}
		n, err := t.visitRest(c, at)
		if err != nil {
			return err
		}
		c.free += n
	}
	return nil
}

// checkCounts compares the counts of the other checks with the counters of the table.
func (t *Table) checkCounts(c *census) error {
	for at := ref(1); at < t.chunks.fresh; at++ {
		if !c.seen[at] {
			return corrupt("chunk %d is neither in an item nor free", at)
		}
	}
	if fresh := uint32(len(t.chunks.mem)/chunkSize) - uint32(t.chunks.fresh); c.free+fresh != t.chunks.free {
		return corrupt("%d chunks in free chains and %d fresh ones; the counter says %d", c.free, fresh, t.chunks.free)
	}
	if c.mortal != t.mortal {
		return corrupt("%d items have an expiry; the counter says %d", c.mortal, t.mortal)
	}
	for i := range c.shares {
		got, want := &c.shares[i], t.shares[i]
		want.evicted, want.expired = 0, 0
		if *got != want {
			return corrupt("the share of handle %d is %+v; Stats says %+v", i, *got, want)
		}
	}
	return nil
}
