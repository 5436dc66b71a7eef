package load

import (
	"math"

	"github.com/remora-kv/remora/internal/cycles"
)

// Quantile is a share of the operations, and the microseconds that these took at
// most.
type Quantile [2]float64

const (
	// Quantiles are evenly spaced up to tailFrom, and then have perDecade for each
	// further nine, up to mostNines of them.
	body      = 18
	tailFrom  = 0.9
	perDecade = 8
	mostNines = 6
)

// Quantiles returns those of the operations that were timed, dense in the tail: from
// the shortest, whose share is 0, to the longest, whose share is 1. Between are none
// that fewer than one operation lies beyond. There are about 60 at most, and the
// shares are the same for every run.
func (t *Tally) Quantiles(scale cycles.Scale) []Quantile {
	n := int64(t.samples)
	if n == 0 {
		return nil
	}
	us := func(ticks int64) float64 { return Round(float64(ticks)*1e6/scale.PerSecond(), 4) }
	shares := quantileShares(n)
	percents := make([]float64, len(shares))
	for i, share := range shares {
		percents[i] = 100 * share
	}
	out := []Quantile{{0, us(t.hist.Min())}}
	for i, ticks := range t.hist.ValueAtPercentilesSlice(percents) {
		out = append(out, Quantile{shares[i], us(ticks)})
	}
	return append(out, Quantile{1, us(t.hist.Max())})
}

// quantileShares are those between the shortest and the longest of n.
func quantileShares(n int64) (out []float64) {
	for i := 1; i < body; i++ {
		out = append(out, Round(tailFrom*float64(i)/body, 9))
	}
	for i := range (mostNines - 1) * perDecade {
		beyond := (1 - tailFrom) * math.Pow10(-i/perDecade) * math.Pow(10, -float64(i%perDecade)/perDecade)
		if beyond*float64(n) < 1 {
			break
		}
		out = append(out, Round(1-beyond, 9))
	}
	return out
}
