package load

import "math"

// Zipf draws ranks below n, of which rank k-1 has a probability proportional to
// k^-theta.
type Zipf struct {
	n, theta  float64
	flat      float64 // 1 - theta
	steep     float64 // 1 / flat
	log       bool    // theta is 1: the integral is the logarithm
	low, span float64 // of the integral over all ranks
	sure      float64 // below it a draw is accepted without a look
}

// tiny takes the place of what rounding made 0.
const tiny = 1e-300

// sameAsOne is how near to 1 theta is taken for it.
const sameAsOne = 1e-9

// NewZipf makes a distribution over n ranks; theta is above 0.
func NewZipf(n uint64, theta float64) *Zipf {
	z := &Zipf{theta: theta, flat: 1 - theta, steep: 1 / (1 - theta)}
	z.log = math.Abs(z.flat) < sameAsOne
	z.sure = 2 - z.inverse(z.integral(2.5)-z.height(2))
	z.grow(n)
	return z
}

// grow makes it one over n ranks.
func (z *Zipf) grow(n uint64) {
	z.n = float64(n)
	z.low = z.integral(z.n + 0.5)
	z.span = z.integral(1.5) - 1 - z.low
}

// Draw returns a rank.
func (z *Zipf) Draw(r *Random) uint64 {
	for {
		u := z.low + r.float()*z.span
		x := z.inverse(u)
		k := math.Floor(x + 0.5)
		if k < 1 {
			k = 1
		} else if k > z.n {
			k = z.n
		}
		if k-x <= z.sure || u >= z.integral(k+0.5)-z.height(k) {
			return uint64(k) - 1
		}
	}
}

// height is x^-theta.
func (z *Zipf) height(x float64) float64 { return exponential(-z.theta * logarithm(x)) }

// integral is that of height from 1 to x.
func (z *Zipf) integral(x float64) float64 {
	if z.log {
		return logarithm(x)
	}
	return (exponential(z.flat*logarithm(x)) - 1) * z.steep
}

// inverse is that of integral.
func (z *Zipf) inverse(u float64) float64 {
	if z.log {
		return exponential(u)
	}
	y := 1 + u*z.flat
	if y < tiny {
		y = tiny
	}
	return exponential(logarithm(y) * z.steep)
}
