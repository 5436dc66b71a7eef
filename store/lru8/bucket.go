package lru8

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/store/internal/extent"
)

// slots is the number of slots of a bucket.
const slots = 8

// bucketSize is a cache line.
const bucketSize = 8 * slots

// slot is one word of a bucket (see the package doc); 0 is an empty one.
type slot uint64

const (
	offsetBits = 40
	tagBits    = 22
	usedBit    = 1 << 62
	linkBit    = 1 << 63
)

// slotFor returns the slot of an item.
func slotFor(off, hash uint64) slot { return slot(off/extent.Unit | uint64(tagOf(hash))<<offsetBits) }

// linkTo returns the link to an overflow bucket.
func linkTo(off uint64) slot { return slot(off/extent.Unit | linkBit) }

func (w slot) offset() uint64 { return uint64(w) & (1<<offsetBits - 1) * extent.Unit }
func (w slot) tag() uint32    { return uint32(w>>offsetBits) & (1<<tagBits - 1) }
func (w slot) isLink() bool   { return w&linkBit != 0 }
func (w slot) isUsed() bool   { return w&usedBit != 0 }
func (w slot) unused() slot   { return w &^ usedBit }

// tagOf returns the bits above those that choose the bucket.
func tagOf(hash uint64) uint32 { return uint32(hash>>32) & (1<<tagBits - 1) }

// bucket is the bytes of a bucket: in the index, or in an overflow block.
type bucket []byte

func (b bucket) slot(i int) slot       { return slot(binary.LittleEndian.Uint64(b[8*i:])) }
func (b bucket) setSlot(i int, w slot) { binary.LittleEndian.PutUint64(b[8*i:], uint64(w)) }

// count returns the number of used slots. They come first (L2).
func (b bucket) count() int {
	n := 0
	for n < slots && b.slot(n) != 0 {
		n++
	}
	return n
}

// promote moves slot i to the front and sets it to w.
func (b bucket) promote(i int, w slot) {
	copy(b[8:8*i+8], b[:8*i])
	b.setSlot(0, w)
}

// remove removes slot i and closes the gap.
func (b bucket) remove(i int) {
	copy(b[8*i:], b[8*i+8:])
	b.setSlot(slots-1, 0)
}

// pushFront inserts a slot in front. The last slot must be empty.
func (b bucket) pushFront(w slot) {
	copy(b[8:], b[:bucketSize-8])
	b.setSlot(0, w)
}

// bucketOf returns the bucket of a hash: its low 32 bits, as a fraction of 2^32, scaled to
// the number of buckets.
func (t *Table) bucketOf(hash uint64) uint64 {
	return hash & (1<<32 - 1) * t.buckets >> 32
}

// bucketAt returns bucket number i of the index.
func (t *Table) bucketAt(i uint64) bucket {
	return t.index[i*bucketSize : (i+1)*bucketSize : (i+1)*bucketSize]
}

// place is where a key was found: slot i of a bucket, and the item there. The zero
// place means that it was not found.
type place struct {
	b   bucket
	i   int
	off uint64
}

// find looks for a key.
func (t *Table) find(hash uint64, key []byte) place {
	b := t.bucketAt(t.bucketOf(hash))
	tag := tagOf(hash)
	for range maxChain + 1 {
		link := slot(0)
		for i := range slots {
			w := b.slot(i)
			if w == 0 {
				break
			}
			if w.isLink() {
				link = w
				break
			}
			if w.tag() == tag && t.record(w.offset()).IsKey(key) {
				return place{b, i, w.offset()}
			}
		}
		if link == 0 {
			break
		}
		b = t.chained(link)
	}
	return place{}
}

// live is find, except that it drops the item if it has expired.
func (t *Table) live(hash uint64, key []byte, now int64) place {
	p := t.find(hash, key)
	if p.off != 0 && t.record(p.off).Expired(now) {
		t.heap.Stats.Expired++
		t.drop(p)
		return place{}
	}
	return p
}

// locate returns the place of an item, which must be in the index.
func (t *Table) locate(off uint64) place {
	b := t.bucketAt(t.bucketOf(t.record(off).Hash()))
	for {
		for i := range slots {
			w := b.slot(i)
			if !w.isLink() && w.offset() == off {
				return place{b, i, off}
			}
		}
		link := b.slot(slots - 1)
		if !link.isLink() {
			panic(fmt.Sprintf("lru8: the item at %d has no slot: the memory is corrupt", off))
		}
		b = t.chained(link)
	}
}
