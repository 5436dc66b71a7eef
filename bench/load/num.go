package load

import (
	"math"
	"time"
)

// Round rounds to n digits behind the point.
func Round(x float64, n int) float64 {
	p := math.Pow10(n)
	return math.Round(x*p) / p
}

// Percent is a share, with n digits behind the point; nil when nothing can be
// said.
func Percent(part, of time.Duration, n int) *float64 {
	if of <= 0 {
		return nil
	}
	p := Round(100*float64(part)/float64(of), n)
	return &p
}
