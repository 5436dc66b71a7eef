package load

import "math/bits"

// Permutation maps the numbers below n one to one onto themselves, in no order
// that is easy to see (W4). It permutes the numbers of as many bits as n has, by
// steps of which each can be undone, until the result is below n.
type Permutation struct {
	n, mask uint64
	half    uint
	add     uint64
}

// NewPermutation makes one of the numbers below n, for a seed.
func NewPermutation(n, seed uint64) Permutation {
	width := uint(bits.Len64(n - 1))
	return Permutation{n: n, mask: 1<<width - 1, half: (width + 1) / 2, add: mix(seed)}
}

// At returns where x, below n, is mapped to.
func (p *Permutation) At(x uint64) uint64 {
	for {
		x = (x + p.add) & p.mask
		x ^= x >> p.half
		x = x * 0xD1342543DE82EF95 & p.mask
		x ^= x >> p.half
		x = x * 0xAF251AF3B0F025B5 & p.mask
		x ^= x >> p.half
		if x < p.n {
			return x
		}
	}
}
