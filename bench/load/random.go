package load

import "math/bits"

// Random is a generator of random numbers (splitmix64): fast, and the same on
// every machine.
type Random struct{ state uint64 }

// NewRandom returns the generator of a stream: those of one seed are unrelated.
func NewRandom(seed uint64, stream int) Random {
	return Random{mix(seed) ^ mix(^uint64(stream))}
}

// golden is the odd number next to 2^64 divided by the golden ratio.
const golden = 0x9E3779B97F4A7C15

// Next returns 64 random bits.
func (r *Random) Next() uint64 {
	r.state += golden
	return mix(r.state)
}

// Below returns a random number below n.
func (r *Random) Below(n uint64) uint64 {
	hi, _ := bits.Mul64(r.Next(), n)
	return hi
}

// float returns a random number from 0 up to and without 1.
func (r *Random) float() float64 { return float64(r.Next()>>11) * (1.0 / (1 << 53)) }

// mix is the finalizer of splitmix64, a permutation of 64-bit numbers.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
