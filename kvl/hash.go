package kvl

import (
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// hasher hashes keys. Its seed is not known to anybody, so that nobody can prepare keys
// that collide; nothing in an image depends on it but the places in the index (K4).
type hasher struct {
	seed uint64
	keep uint64 // bits that are not cleared: all, but in tests of collisions
}

func newHasher() hasher { return hasher{seed: rand.Uint64(), keep: ^uint64(0)} }

func (h hasher) hash(key []byte) uint64 { return xxh3.HashSeed(key, h.seed) & h.keep }
