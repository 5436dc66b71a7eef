package bench

import "math"

// largeDF is the number of degrees of freedom from which on Student's distribution is
// taken for that with so many: t differs by less than a thousandth.
const largeDF = 4096

// StudentT is the t between -t and +t of which Student's distribution with df degrees of
// freedom has the given share: 12.706 for 0.95 and 1.
func StudentT(share float64, df int) float64 {
	df = min(max(df, 1), largeDF)
	// The share grows with the angle atan(t/sqrt(df)), from 0 to 1: halve the interval
	// until it has no double between its ends.
	low, high := 0.0, math.Pi/2
	for {
		mid := (low + high) / 2
		if mid <= low || mid >= high {
			return math.Tan(mid) * math.Sqrt(float64(df))
		}
		if within(mid, df) < share {
			low = mid
		} else {
			high = mid
		}
	}
}

// within is the share of Student's distribution between -t and t, where
// angle = atan(t/sqrt(df)): a finite sum for whole df (Abramowitz and Stegun, 26.7.3 and
// 26.7.4).
func within(angle float64, df int) float64 {
	sin, cos := math.Sincos(angle)
	if df == 1 {
		return 2 * angle / math.Pi
	}
	term, sum := 1.0, 1.0
	if df%2 == 1 {
		term, sum = cos, cos
	}
	for k := 2 + df%2; k <= df-2; k += 2 {
		term *= cos * cos * float64(k-1) / float64(k)
		sum += term
	}
	if df%2 == 1 {
		return 2 / math.Pi * (angle + sin*sum)
	}
	return sin * sum
}
