package fabrictest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/fence"
)

// pattern is an endless sequence of bytes that no other pattern shares. Its
// words name the pattern and their place in it, so that a stray piece can be
// recognised.
type pattern uint32

// guard fills what no operation may touch.
const guard pattern = 0xfffff

const (
	scramble   = 0x9e3779b97f4a7c15
	unscramble = 0xf1de83e19937733d // its inverse modulo 2^64
)

// word returns bytes 8*i to 8*i+7, little-endian.
func (p pattern) word(i int) uint64 {
	x := (uint64(p)<<32 | uint64(uint32(i))) * scramble
	x ^= x >> 32
	return x * scramble
}

// recognise inverts word. ok is false for a word that is of no pattern.
func recognise(w uint64) (p pattern, index int, ok bool) {
	x := w * unscramble
	x ^= x >> 32
	x *= unscramble
	p, index = pattern(x>>32), int(uint32(x))
	return p, index, p <= guard && index < 1<<28
}

// at returns byte off.
func (p pattern) at(off int) byte { return byte(p.word(off/8) >> (off % 8 * 8)) }

// fill writes bytes off, off+1, ... of the pattern into b.
func (p pattern) fill(b []byte, off int) {
	i := 0
	for ; i < len(b) && (off+i)%8 != 0; i++ {
		b[i] = p.at(off + i)
	}
	for ; len(b)-i >= 8; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], p.word((off+i)/8))
	}
	for ; i < len(b); i++ {
		b[i] = p.at(off + i)
	}
}

// bytes returns n bytes from off.
func (p pattern) bytes(off, n int) []byte {
	b := make([]byte, n)
	p.fill(b, off)
	return b
}

// match reports whether b is the pattern from off on.
func (p pattern) match(b []byte, off int) bool {
	return firstDifference(b, p.bytes(off, len(b))) < 0
}

// firstDifference returns the first index at which got is not want, or -1.
func firstDifference(got, want []byte) int {
	if bytes.Equal(got, want) {
		return -1
	}
	for i := range got {
		if got[i] != want[i] {
			return i
		}
	}
	return len(got)
}

// explain says what is wrong at index i of got.
func explain(got, want []byte, i int) string {
	n := 0
	for j := range got {
		if got[j] != want[j] {
			n++
		}
	}
	return fmt.Sprintf("byte %d of %d is %#02x%s, not %#02x%s; %d bytes differ",
		i, len(got), got[i], origin(got, i), want[i], origin(want, i), n)
}

// origin says which pattern byte i of b is from, if that can be seen.
func origin(b []byte, i int) string {
	for start := max(0, i-7); start <= i && start+8 <= len(b); start++ {
		if p, index, ok := recognise(binary.LittleEndian.Uint64(b[start:])); ok {
			return fmt.Sprintf(" (%v at %d)", p, 8*index+i-start)
		}
	}
	return ""
}

// String names the pattern.
func (p pattern) String() string {
	if p == guard {
		return "the guard"
	}
	return fmt.Sprintf("pattern %d", uint32(p))
}

// snapshot copies memory that a peer may be writing.
func snapshot(b []byte) []byte {
	c := make([]byte, len(b))
	fence.CopyIn(c, b)
	return c
}
