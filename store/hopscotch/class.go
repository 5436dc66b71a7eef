package hopscotch

import "math/bits"

// A size class is the length of a block in a byte, for clients that read it: in units below
// 16, above that eight classes for each power of two, rounded up. So a client reads at
// most an eighth too much.

// classOf returns the size class of a length.
func classOf(size uint64) uint8 {
	units := (size + unit - 1) / unit
	if units < 16 {
		return uint8(units)
	}
	shift := bits.Len64(units) - 4
	top := (units + 1<<shift - 1) >> shift // 8 to 16
	return uint8(uint64(shift+1)<<3 + top - 8)
}

// classSize returns the largest length of a size class.
func classSize(class uint8) uint64 {
	if class < 16 {
		return uint64(class) * unit
	}
	return (8 + uint64(class&7)) << (class>>3 - 1) * unit
}
