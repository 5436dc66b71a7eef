package out

import (
	"fmt"
	"math"
	"strings"
)

// Unit writes numbers of a kind: by the largest of its scales that is not larger.
type Unit []scale

type scale struct {
	at   float64
	name string
}

// The units of numbers, of rates, of times in microseconds and in seconds, of shares and of sizes.
var (
	Count     = Unit{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, ""}}
	PerSecond = Unit{{1e9, " G/s"}, {1e6, " M/s"}, {1e3, " k/s"}, {1, "/s"}}
	Micro     = Unit{{1e6, " s"}, {1e3, " ms"}, {1, " us"}, {1e-3, " ns"}}
	Second    = Unit{{1, " s"}, {1e-3, " ms"}}
	Share     = Unit{{0.01, " %"}}
	Hundredth = Unit{{1, " %"}}
	Size      = Unit{{1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
)

func (u Unit) of(x float64) scale {
	for _, s := range u {
		if math.Abs(x) >= s.at {
			return s
		}
	}
	if len(u) == 0 {
		return scale{1, ""}
	}
	return u[len(u)-1]
}

// Text writes a number with three digits.
func (u Unit) Text(x float64) string {
	s := u.of(x * 1.0005) // 1000 is written with the next prefix
	return threeDigits(x/s.at) + s.name
}

// Tick writes a number of an axis, with as many digits as it has: 0, 2.5 k, 10 ms.
func (u Unit) Tick(x float64) string {
	if x == 0 {
		return "0"
	}
	s := u.of(x * 1.000001)
	return fmt.Sprintf("%.4g", x/s.at) + strings.Replace(s.name, " us", " µs", 1)
}

// SI writes a number with three digits and a prefix.
func SI(x float64) string { return Count.Text(x) }

// Micros writes microseconds with three digits and a unit.
func Micros(us float64) string { return Micro.Text(us) }
