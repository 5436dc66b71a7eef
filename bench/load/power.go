package load

import "math"

// logarithm is math.Log to ten digits, several times as fast: of a positive
// number that is not subnormal.
func logarithm(x float64) float64 {
	const sqrtHalf = 0x3FE6A09E00000000 // of a float64, the bits that count
	bits := math.Float64bits(x)
	// x is m * 2^e, with m between the roots of 1/2 and 2.
	e := int64(bits-sqrtHalf) >> 52
	m := math.Float64frombits(bits - uint64(e)<<52)
	// The series of 2 artanh(s), in an order that leaves little to wait for.
	s := (m - 1) / (m + 1)
	q := s * s
	q2 := q * q
	p := (1 + q*(1.0/3)) + q2*(1.0/5+q*(1.0/7)) + q2*q2*(1.0/9+q*(1.0/11)+q2*(1.0/13))
	return float64(e)*math.Ln2 + 2*s*p
}

// exponential is math.Exp to ten digits, for results that are neither huge nor
// subnormal.
func exponential(x float64) float64 {
	const most = 700 // e^700 is near the end of what can be told
	if x > most || x < -most {
		x = math.Copysign(most, x)
	}
	k := math.RoundToEven(x * math.Log2E)
	r := x - k*math.Ln2
	r2 := r * r
	r4 := r2 * r2
	p := (1 + r) + r2*(1.0/2+r*(1.0/6)) +
		r4*((1.0/24+r*(1.0/120))+r2*(1.0/720+r*(1.0/5040))+r4*(1.0/40320+r*(1.0/362880)))
	return p * math.Float64frombits(uint64(int64(k)+1023)<<52)
}
