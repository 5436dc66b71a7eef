package store

import "github.com/zeebo/xxh3"

// Seed keys the hashes of a server, so that a client cannot prepare keys that
// collide without knowing it.
type Seed uint64

// Hash returns the hash of a key.
func (s Seed) Hash(key []byte) uint64 { return xxh3.HashSeed(key, uint64(s)) }

// HashString is Hash for a key that is a string.
func (s Seed) HashString(key string) uint64 { return xxh3.HashStringSeed(key, uint64(s)) }

// Key returns the key with its hash.
func (s Seed) Key(key []byte) Key { return Key{Hash: s.Hash(key), Bytes: key} }

// PartitionOf returns which of n partitions holds the keys with this hash. It uses
// the highest bits, which engines do not use.
func PartitionOf(hash uint64, n int) int {
	// hash/2^64 is a fraction in [0, 1); multiply it by n.
	return int((hash >> 32 * uint64(n)) >> 32)
}
