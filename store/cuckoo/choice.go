package cuckoo

import "github.com/remora-kv/remora/store"

// choices is the number of buckets in which a key may be.
const choices = 3

// maxBuckets is how many buckets a fraction of 32 bits can tell apart.
const maxBuckets = 1 << 32

// hashing maps keys to buckets, for the Table and the Finder.
type hashing struct {
	buckets uint64
	salt    uint64
}

func newHashing(buckets uint64, seed store.Seed) hashing {
	return hashing{buckets, mix(uint64(seed) + 0x9e3779b97f4a7c15)}
}

// mix is a bijection after which every bit depends on every bit: the finalizer of
// MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// tagOf returns the tag of a hash.
func (h *hashing) tagOf(hash uint64) uint64 { return mix(hash^h.salt) >> (64 - tagBits) }

// homeOf returns the first choice of a tag.
func (h *hashing) homeOf(tag uint64) uint64 { return h.part(mix(tag + h.salt)) }

// choicesOf returns the choices of a tag, all different.
func (h *hashing) choicesOf(tag uint64) (c [choices]uint64) {
	x := mix(tag + h.salt)
	c[0], c[1] = h.part(x), h.part(x>>32)
	if c[1] == c[0] {
		c[1] = h.after(c[1])
	}
	c[2] = h.part(mix(x))
	for c[2] == c[0] || c[2] == c[1] {
		c[2] = h.after(c[2])
	}
	return c
}

// part scales the low 32 bits of x, as a fraction of 2^32, to the number of buckets.
func (h *hashing) part(x uint64) uint64 { return x & (1<<32 - 1) * h.buckets >> 32 }

// after returns the next bucket, in a circle.
func (h *hashing) after(bucket uint64) uint64 {
	if bucket++; bucket == h.buckets {
		return 0
	}
	return bucket
}
