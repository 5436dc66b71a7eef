package kvl

import (
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

// hasher hashes keys. Its seed is random and secret, so that nobody can prepare keys
// that collide. Of an image only the index depends on it (K4).
type hasher struct {
	seed uint64
	keep uint64 // mask of the bits to keep: all, except in tests of collisions
}

func newHasher() hasher { return hasher{seed: rand.Uint64(), keep: ^uint64(0)} }

func (h hasher) hash(key []byte) uint64 { return xxh3.HashSeed(key, h.seed) & h.keep }
