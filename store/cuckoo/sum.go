package cuckoo

import (
	"encoding/binary"
	"hash/crc64"
)

// sumTables are the tables for slicing by 8: table k has the CRC64 of each byte followed
// by k zero bytes.
var sumTables = makeSumTables()

func makeSumTables() *[8][256]uint64 {
	var t [8][256]uint64
	t[0] = *crc64.MakeTable(crc64.ECMA)
	for i := range 256 {
		for k := 1; k < 8; k++ {
			before := t[k-1][i]
			t[k][i] = t[0][byte(before)] ^ before>>8
		}
	}
	return &t
}

// itemSum is the initial value of the sums of items, as in hash/crc64.
const itemSum = ^uint64(0)

// addWord adds the eight bytes of a word, the lowest first, to a CRC64. It is hash/crc64
// without the complements at both ends, and faster for few bytes: that package compares its
// whole table with the known ones in every call.
func addWord(sum, word uint64) uint64 {
	x, t := sum^word, sumTables
	return t[7][byte(x)] ^ t[6][byte(x>>8)] ^ t[5][byte(x>>16)] ^ t[4][byte(x>>24)] ^
		t[3][byte(x>>32)] ^ t[2][byte(x>>40)] ^ t[1][byte(x>>48)] ^ t[0][x>>56]
}

// addBytes adds bytes to a CRC64.
func addBytes(sum uint64, b []byte) uint64 {
	for len(b) >= 8 {
		sum = addWord(sum, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	for _, v := range b {
		sum = sumTables[0][byte(sum)^v] ^ sum>>8
	}
	return sum
}
