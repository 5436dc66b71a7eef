package lru8

import "github.com/remora-kv/remora/store/internal/extent"

// Overflow buckets exist in Store mode only. When a full bucket needs one more slot, its
// last slot becomes a link to an overflow bucket, which takes over the item in that slot.

// maxChain is how many overflow buckets a bucket may have (S8).
const maxChain = 8

// chainBlock is the length of the block of an overflow bucket.
const chainBlock = (8 + bucketSize + extent.Unit - 1) &^ (extent.Unit - 1)

// chained returns the overflow bucket that a link points to.
func (t *Table) chained(link slot) bucket {
	from := link.offset() + 8
	return t.heap.Mem()[from : from+bucketSize : from+bucketSize]
}

// append puts an item at the end of the chain of its bucket, and reports whether
// there was room. In a full chain it first drops expired items.
func (t *Table) append(w slot, hash uint64, now int64) bool {
	first := t.bucketAt(t.bucketOf(hash))
	b, length := t.lastOf(first)
	if b.count() == slots && t.heap.Mortal > 0 {
		t.expireChain(first, now)
		b, length = t.lastOf(first)
	}
	n := b.count()
	if n < slots {
		b.setSlot(n, w)
		return true
	}
	if length == maxChain {
		return false
	}
	off := t.takeChain()
	if off == 0 {
		return false
	}
	next := t.chained(linkTo(off))
	clear(next)
	next.setSlot(0, b.slot(slots-1))
	next.setSlot(1, w)
	b.setSlot(slots-1, linkTo(off))
	return true
}

// lastOf returns the last bucket of a chain and the number of its overflow buckets.
func (t *Table) lastOf(first bucket) (last bucket, length int) {
	for last = first; last.slot(slots - 1).isLink(); length++ {
		last = t.chained(last.slot(slots - 1))
	}
	return last, length
}

// expireChain drops the expired items of a bucket and its chain.
func (t *Table) expireChain(first bucket, now int64) {
	for b := first; ; {
		for i := 0; i < slots && b.slot(i) != 0 && !b.slot(i).isLink(); {
			off := b.slot(i).offset()
			if !t.record(off).Expired(now) {
				i++
				continue
			}
			// drop moves another item into the slot and may free an overflow bucket,
			// maybe b: begin again.
			t.heap.Stats.Expired++
			t.drop(place{b, i, off})
			b, i = first, 0
		}
		if !b.slot(slots - 1).isLink() {
			return
		}
		b = t.chained(b.slot(slots - 1))
	}
}

// takeChain takes a block for an overflow bucket, or returns 0.
func (t *Table) takeChain() uint64 {
	off := t.heap.Take(chainBlock)
	if off != 0 {
		t.heap.SetKind(off, kindChain)
		t.heap.Trim(off, chainBlock)
		t.chainBytes += int64(t.heap.Size(off))
	}
	return off
}

// unchain empties slot i of bucket b, which is first or in the chain of first, by moving
// the last item of the chain there. If an overflow bucket has one item left, that moves to
// the bucket before, and the overflow bucket is freed (L3).
func (t *Table) unchain(first, b bucket, i int) {
	var before bucket
	last := first
	for last.slot(slots - 1).isLink() {
		before, last = last, t.chained(last.slot(slots-1))
	}
	n := last.count() - 1
	b.setSlot(i, last.slot(n))
	last.setSlot(n, 0)
	if n == 1 && before != nil {
		off := before.slot(slots - 1).offset()
		before.setSlot(slots-1, last.slot(0))
		t.chainBytes -= int64(t.heap.Size(off))
		t.heap.Give(off)
	}
}

// chainMoved updates the link to an overflow bucket that was moved to another block.
func (t *Table) chainMoved(from, to uint64) {
	t.heap.SetKind(to, kindChain)
	t.chainBytes += int64(t.heap.Size(to)) - int64(t.heap.Size(from))
	first := t.chained(linkTo(to)).slot(0).offset()
	before := t.bucketAt(t.bucketOf(t.record(first).Hash()))
	for before.slot(slots-1) != linkTo(from) {
		before = t.chained(before.slot(slots - 1))
	}
	before.setSlot(slots-1, linkTo(to))
}
