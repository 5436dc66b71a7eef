package crc32c

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the checksum of p.
func Checksum(p []byte) uint32 { return Update(0, p) }

// Update returns the checksum of what sum is the checksum of, and p behind it.
func Update(sum uint32, p []byte) uint32 {
	if len(p) >= leastFold && canFold {
		n := len(p) &^ (foldStep - 1)
		sum = ^fold(^sum, &p[0], n)
		if p = p[n:]; len(p) == 0 {
			return sum
		}
	}
	return crc32.Update(sum, table, p)
}

// foldStep is how much is folded at a time, and leastFold from which length on that pays.
const (
	foldStep  = 256
	leastFold = 256
)
