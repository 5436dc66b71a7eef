package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/remora-kv/remora/bench/load"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is what a sample says about a quantity.
type Estimate struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // S1
	// CI95 is half of the interval that holds the true mean with 95 % confidence: it is
	// between Mean-CI95 and Mean+CI95 (S2).
	CI95 float64 `json:"ci95"`
	Interval
}

// Interval is what tables and figures show of a sample: its median, or a ratio of two, with the
// bootstrap interval from Low to High (S4).
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// confidence is that of intervals.
const confidence = 0.95

// MedianOf is the one in the middle, and of an even number the larger of both: always one of xs,
// of which there is one at least. So it is the same in a row, a table and a figure.
func MedianOf(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[len(sorted)/2]
}

// EstimateOf estimates the quantity of which xs are measurements. Of none it is the zero
// Estimate.
func EstimateOf(xs []float64) Estimate {
	n := len(xs)
	if n == 0 {
		return Estimate{}
	}
	e := Estimate{N: n, Mean: stat.Mean(xs, nil), Interval: IntervalOf(xs)}
	if n == 1 {
		return e // S3
	}
	e.SD = stat.StdDev(xs, nil)
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + confidence) / 2)
	e.CI95 = t * stat.StdErr(e.SD, float64(n))
	return e
}

// IntervalOf estimates the median of what xs are measurements of, at least one.
func IntervalOf(xs []float64) Interval {
	return bootstrap(len(xs), func(picked []int) float64 { return MedianOf(pick(xs, picked)) })
}

// RatioOf estimates the ratio of two quantities, of which there is one measurement each from
// every round, at least one: the ratio of their medians, and not the median or the mean of
// ratios (S5). Rounds stay together, so that what one did to both is not in the interval.
func RatioOf(xs, ys []float64) Interval {
	return bootstrap(len(xs), func(picked []int) float64 { return MedianOf(pick(xs, picked)) / MedianOf(pick(ys, picked)) })
}

// resamples is how often a sample is drawn from again.
const resamples = 2000

// bootstrap finds where a statistic of n measurements lies if they are drawn again from
// themselves (Efron's percentile method). The same measurements have the same interval.
func bootstrap(n int, statistic func(picked []int) float64) Interval {
	picked := make([]int, n)
	for i := range picked {
		picked[i] = i
	}
	x := statistic(picked)
	if n == 1 {
		return Interval{x, x, x} // S3
	}
	rng, found := rand.New(rand.NewPCG(1, uint64(n))), make([]float64, resamples)
	for k := range found {
		for i := range picked {
			picked[i] = rng.IntN(n)
		}
		found[k] = statistic(picked)
	}
	slices.Sort(found)
	at := func(share float64) float64 { return stat.Quantile(share, stat.Empirical, found, nil) }
	return Interval{x, at((1 - confidence) / 2), at((1 + confidence) / 2)}
}

// Coverage is how often the interval of the median of n measurements holds the median of very
// many, whatever their distribution: which of the sorted measurements the bootstrap takes as
// its ends depends on n alone.
func Coverage(n int) float64 {
	if n < 2 {
		return 0
	}
	// at is the number, from 1, of the smallest measurement that medians of drawn ones exceed
	// with a probability of 1-share at most.
	at := func(share float64) float64 {
		for k := 1; k < n; k++ {
			below := distuv.Binomial{N: float64(n), P: float64(k) / float64(n)} // of those drawn
			if 1-below.CDF(float64(n/2)) >= share {
				return float64(k)
			}
		}
		return float64(n)
	}
	below := distuv.Binomial{N: float64(n), P: 0.5} // the true median
	return below.CDF(at((1+confidence)/2)-1) - below.CDF(at((1-confidence)/2)-1)
}

// IntervalNote says what the intervals beside medians of n trials are; empty of one trial,
// which has none.
func IntervalNote(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("intervals are of medians of %d trials drawn again (bootstrap): they hold the true median in %.0f %% of cases", n, 100*Coverage(n))
}

func pick(xs []float64, picked []int) []float64 {
	out := make([]float64, len(picked))
	for i, k := range picked {
		out[i] = xs[k]
	}
	return out
}

// Rounded has digits behind the point, as rows have.
func (e Estimate) Rounded(digits int) Estimate {
	round := func(x float64) float64 { return load.Round(x, digits) }
	return Estimate{
		N: e.N, Mean: round(e.Mean), SD: round(e.SD), CI95: round(e.CI95),
		Interval: Interval{round(e.Median), round(e.Low), round(e.High)},
	}
}
