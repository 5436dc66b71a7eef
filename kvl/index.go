package kvl

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/remora-kv/remora/internal/arena"
)

// index finds items by their keys. It is a cuckoo table with two buckets for each key, each of
// eight entries, a cache line. An entry is | tag 16 | place 48 |; find compares the key with
// that of the record. An entry can move without its hash: the other bucket follows from the
// bucket and the tag.
//
// An entry for which there is no room stays in overflow, which is empty unless too many hashes
// collide.
type index struct {
	hasher   hasher
	block    *arena.Block
	entries  []byte
	buckets  uint64
	areaBits uint // a place is area << areaBits | offset / 8
	overflow []uint64
	victim   int // index of the entry of a full bucket to move next

	waiting []indexed
	touched byte
}

// indexed is an item that is not in the index yet.
type indexed struct {
	hash uint64
	link Link
}

const (
	bucketEntries = 8
	bucketSize    = 8 * bucketEntries
	placeBits     = 48
	maxMoves      = 500
	indexBatch    = 32

	// An index is filled to 6.8 of 8 entries.
	fillNumerator, fillDenominator = 68, 10
)

// placeBitsOf returns how many bits offsets have in areas of a length. Longer areas have only one
// item, at 0.
func placeBitsOf(areaSize int) uint { return uint(bits.Len64(uint64(areaSize) / 8)) }

func newIndex(a *arena.Arena, h hasher, items int64, areaSize int) (index, error) {
	x := index{hasher: h, areaBits: placeBitsOf(areaSize)}
	x.buckets = uint64(items)*fillDenominator/fillNumerator + 1
	var err error
	size := int(x.buckets) * bucketSize
	if size >= hugePage {
		size = (size + hugePage - 1) &^ (hugePage - 1) // the kernel aligns only blocks of whole huge pages
	}
	if x.block, err = a.Alloc("kvl index", size); err != nil {
		return index{}, err
	}
	x.block.HugePages()
	x.entries = x.block.Bytes()
	return x, nil
}

func (x *index) free() error {
	if x.block == nil {
		return nil
	}
	b := x.block
	x.block, x.entries, x.overflow = nil, nil, nil
	return b.Free()
}

// home returns the first bucket of a hash, and its tag, which is not 0.
func (x *index) home(hash uint64) (bucket, tag uint64) {
	bucket = (hash >> 32) * x.buckets >> 32
	return bucket, max(hash&0xffff, 1)
}

// other returns the other bucket of an entry. It is its own inverse.
func (x *index) other(bucket, tag uint64) uint64 {
	sum := (tag * 0x9e3779b97f4a7c15 >> 32) * x.buckets >> 32
	if sum < bucket {
		sum += x.buckets
	}
	return sum - bucket
}

func (x *index) bucket(i uint64) []byte { return x.entries[i*bucketSize : (i+1)*bucketSize] }

// put adds an entry to a bucket, and reports whether there was room.
func put(bucket []byte, e uint64) bool {
	for at := 0; at < bucketSize; at += 8 {
		if binary.LittleEndian.Uint64(bucket[at:]) == 0 {
			binary.LittleEndian.PutUint64(bucket[at:], e)
			return true
		}
	}
	return false
}

// add is a delayed insert: flush loads the buckets of many items together.
func (x *index) add(hash uint64, l Link) {
	x.waiting = append(x.waiting, indexed{hash, l})
	if len(x.waiting) == indexBatch {
		x.flush()
	}
}

// flush inserts the items that were added.
func (x *index) flush() {
	sum := byte(0)
	for i := range x.waiting {
		bucket, _ := x.home(x.waiting[i].hash)
		sum += x.entries[bucket*bucketSize]
	}
	x.touched = sum // keeps the compiler from removing the loads
	for i := range x.waiting {
		x.insert(x.waiting[i].hash, x.waiting[i].link)
	}
	x.waiting = x.waiting[:0]
}

// insert adds the place of an item whose key has this hash. The key must be new.
func (x *index) insert(hash uint64, l Link) {
	bucket, tag := x.home(hash)
	e := tag<<placeBits | uint64(l.Area())<<x.areaBits | uint64(l.Offset())/8
	if put(x.bucket(bucket), e) {
		return
	}
	bucket = x.other(bucket, tag)
	for range maxMoves {
		if put(x.bucket(bucket), e) {
			return
		}
		x.victim = (x.victim + 1) % bucketEntries
		at := x.bucket(bucket)[x.victim*8:]
		moved := binary.LittleEndian.Uint64(at)
		binary.LittleEndian.PutUint64(at, e)
		e = moved
		bucket = x.other(bucket, e>>placeBits)
	}
	x.overflow = append(x.overflow, e)
}

// find returns the link to the item of a key.
func (x *index) find(m *Image, key []byte) (Link, bool) {
	if x.entries == nil {
		return Link{}, false
	}
	bucket, tag := x.home(x.hasher.hash(key))
	if l, ok := x.look(m, bucket, tag, key); ok {
		return l, true
	}
	if l, ok := x.look(m, x.other(bucket, tag), tag, key); ok {
		return l, true
	}
	for _, e := range x.overflow {
		if e>>placeBits == tag {
			if l, ok := x.judge(m, e, key); ok {
				return l, true
			}
		}
	}
	return Link{}, false
}

func (x *index) look(m *Image, bucket, tag uint64, key []byte) (Link, bool) {
	entries := x.bucket(bucket)
	for at := 0; at < bucketSize; at += 8 {
		e := binary.LittleEndian.Uint64(entries[at:])
		if e>>placeBits == tag {
			if l, ok := x.judge(m, e, key); ok {
				return l, true
			}
		}
	}
	return Link{}, false
}

// judge returns the link of the item that an entry points to, if that has the key.
func (x *index) judge(m *Image, e uint64, key []byte) (Link, bool) {
	place := e & (1<<placeBits - 1)
	area, off := int(place>>x.areaBits), int64(place&(1<<x.areaBits-1))*8
	it := itemOf(m.bytes[area][off:])
	if !bytes.Equal(it.Key(), key) {
		return Link{}, false
	}
	return NewLink(area, off, int(binary.LittleEndian.Uint32(it.b[offLength:])), m.generation), true
}
