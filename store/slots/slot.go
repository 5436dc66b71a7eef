package slots

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

const (
	slotSize = 1024

	// MaxKey is the length of the longest key.
	MaxKey = keyField - 1
	// MaxValue is the length of the longest value.
	MaxValue = atTrailer - atValue - 1
)

// Offsets in a slot (see the package doc).
const (
	atCount   = 8
	atKey     = 16
	keyField  = 112
	atValue   = atKey + keyField
	atTrailer = 1000
	atFlags   = atTrailer
	atLength  = atTrailer + 4
	atExpires = atTrailer + 8
	atSum     = atTrailer + 16
)

// state is the state of a slot.
type state uint8

const (
	empty state = iota
	occupied
	tombstone
)

// head is the first word of a slot.
type head uint64

func newHead(version uint64, keySize int) head {
	return head(uint64(occupied) | version<<8 | uint64(keySize)<<56)
}

func (h head) state() state    { return state(h) }
func (h head) version() uint64 { return uint64(h) << 8 >> 16 }
func (h head) keySize() int    { return int(h >> 56) }

// headOf returns the head of a slot in memory that does not change meanwhile.
func headOf(slot []byte) head { return head(binary.LittleEndian.Uint64(slot)) }

// sumOf returns the checksum of a slot with this head and a value of valueSize bytes, at
// most MaxValue. It does not read the head in the slot.
func sumOf(slot []byte, h head, valueSize int) uint64 {
	return xxh3.HashSeed(slot[atKey:atValue+valueSize+1], xxh3.HashSeed(slot[atTrailer:atSum], uint64(h)))
}

// Parameters of FNV-1a with 64 bits.
const (
	fnvBasis = 14695981039346656037
	fnvPrime = 1099511628211
)

// fnv1a returns the hash of a key, for the Table and the Finder.
func fnv1a(key []byte) uint64 {
	h := uint64(fnvBasis)
	for _, b := range key {
		h = (h ^ uint64(b)) * fnvPrime
	}
	return h
}
