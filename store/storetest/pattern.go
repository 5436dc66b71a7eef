package storetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// pattern returns n bytes that identify their pattern and offset: no 8 of them
// occur in another pattern, or at another place of this one.
func pattern(id uint64, n int) []byte {
	b := make([]byte, n)
	fillPattern(b, id)
	return b
}

// fillPattern fills b with a pattern.
func fillPattern(b []byte, id uint64) {
	i := 0
	for ; len(b)-i >= 8; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], patternWord(id, i))
	}
	var last [8]byte
	binary.LittleEndian.PutUint64(last[:], patternWord(id, i))
	copy(b[i:], last[:])
}

// patternWord is splitmix64: a bijection of its argument.
func patternWord(id uint64, off int) uint64 {
	x := id<<24 ^ uint64(off>>3)
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// numbered returns a key of n bytes, at least 8, unique for each number.
func numbered(i, n int) []byte {
	b := make([]byte, n)
	for off := 0; off < n; off += 8 {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], uint64(i))
		copy(b[off:], word[:])
	}
	return b
}

// difference describes how got differs from want. It returns "" if they are equal.
func difference(got, want []byte) string {
	if bytes.Equal(got, want) {
		return ""
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes (%s), want %d (%s)", len(got), short(got), len(want), short(want))
	}
	first, n := -1, 0
	for i := range got {
		if got[i] != want[i] {
			if n++; first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("byte %d of %d is %#02x, not %#02x; %d bytes differ", first, len(got), got[first], want[first], n)
}

// short formats the beginning of some bytes.
func short(b []byte) string {
	if len(b) > 16 {
		return fmt.Sprintf("%x... of %d bytes", b[:16], len(b))
	}
	return fmt.Sprintf("%x", b)
}
