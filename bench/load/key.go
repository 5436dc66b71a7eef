package load

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Keys makes keys: hexadecimal digits that are a function of the index, one to one
// for each size, behind as many letters as it takes. They are printable, because some
// protocols ask for that. It belongs to one thread.
type Keys struct {
	size   int
	mask   uint64 // of the bits that the digits tell
	varies bool
	sizes  Sizes
}

// digits is how many tell a key from all others, where there is room.
const digits = 16

// padding stands before the digits of long keys.
const padding = 'k'

// MaxKeys is how many different keys of a size there are.
func MaxKeys(size int) uint64 {
	if size >= digits {
		return math.MaxUint64
	}
	return 1 << (4 * uint(max(size, 0)))
}

// KeysOf makes keys of all those sizes, each at least 1.
func KeysOf(sizes Sizes) Keys {
	if sizes.Least() < 1 {
		panic(fmt.Sprintf("workload: keys of %d bytes", sizes.Least()))
	}
	k := Keys{sizes: sizes, varies: sizes.varies()}
	k.resize(sizes.Least())
	return k
}

// resize makes the next key one of so many bytes.
func (k *Keys) resize(size int) {
	k.size, k.mask = size, math.MaxUint64
	if size < digits {
		k.mask = MaxKeys(size) - 1
	}
}

// Buffer returns memory for Fill.
func (k *Keys) Buffer() []byte {
	b := make([]byte, max(k.sizes.Most(), digits))
	for i := range b {
		b[i] = padding
	}
	return b
}

// Fill writes the key of an index, which is below MaxKeys of the shortest size, into
// memory from Buffer, and returns where it is.
func (k *Keys) Fill(buffer []byte, index uint64) []byte {
	if k.varies {
		k.resize(k.sizes.At(index))
	}
	x := index * 0xD1342543DE82EF95
	if k.size >= digits {
		x ^= x >> 32
	}
	at := buffer[len(buffer)-digits:]
	x &= k.mask
	binary.BigEndian.PutUint64(at, hex(uint32(x>>32)))
	binary.BigEndian.PutUint64(at[8:], hex(uint32(x)))
	return buffer[len(buffer)-k.size:]
}

// hex returns the eight digits of x, the first in the highest byte.
func hex(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000FFFF0000FFFF
	v = (v | v<<8) & 0x00FF00FF00FF00FF
	v = (v | v<<4) & 0x0F0F0F0F0F0F0F0F
	letters := (v + 0x0606060606060606) >> 4 & 0x0101010101010101
	return v + 0x3030303030303030 + letters*('a'-'0'-10)
}
