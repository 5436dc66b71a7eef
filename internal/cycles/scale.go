package cycles

import (
	"math"
	"math/bits"
	"time"
)

// shift is the number of fraction bits of Scale.mult.
const shift = 32

// Scale converts differences of Now into nanoseconds. It is a small value; copy
// it freely. The zero Scale is not usable, get one from Calibrate.
type Scale struct {
	mult     uint64 // nanoseconds per tick, in units of 2^-shift
	overhead float64
}

// Calibrate finds the rate of the counter. On amd64 it measures against the
// monotonic clock for about 20 ms; elsewhere the rate is known.
func Calibrate() Scale {
	s := Scale{mult: uint64(math.Round(nanosPerTick() * (1 << shift)))}
	s.overhead = measureOverhead(s)
	return s
}

// Nanos returns the nanoseconds between two readings of Now, later minus
// earlier. A negative difference gives 0, one too long for an int64 the largest.
func (s Scale) Nanos(delta uint64) int64 {
	if int64(delta) < 0 {
		return 0
	}
	hi, lo := bits.Mul64(delta, s.mult)
	if hi >= 1<<(shift-1) {
		return math.MaxInt64
	}
	return int64(hi<<(64-shift) | lo>>shift)
}

// Ticks returns about how many counts of Now make up d, for deadlines that are
// compared without converting each reading. A negative d gives 0.
func (s Scale) Ticks(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	quo, _ := bits.Div64(uint64(d)>>(64-shift), uint64(d)<<shift, s.mult)
	return quo
}

// PerSecond returns the rate of the counter in Hz.
func (s Scale) PerSecond() float64 { return 1e9 / (float64(s.mult) / (1 << shift)) }

// Overhead returns the nanoseconds that one Now takes, as measured by Calibrate.
func (s Scale) Overhead() float64 { return s.overhead }

// measureOverhead takes the best of several runs, since a run can only be
// disturbed towards longer.
func measureOverhead(s Scale) float64 {
	const runs, calls = 16, 256
	best := int64(math.MaxInt64)
	for range runs {
		start := Now()
		for range calls - 1 {
			Now()
		}
		best = min(best, s.Nanos(Now()-start))
	}
	return float64(best) / calls
}
