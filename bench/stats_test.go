package bench

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Max(1, math.Abs(b)) }

// S1, S2, S3: t is 12.706, 2.776 and 2.365 with 1, 4 and 7 degrees of freedom (NIST/SEMATECH
// e-Handbook, 1.3.6.7.2).
func TestEstimateOf(t *testing.T) {
	for _, c := range []struct {
		xs             []float64
		mean, sd, ci95 float64
	}{
		{nil, 0, 0, 0},
		{[]float64{7}, 7, 0, 0},
		{[]float64{5, 5, 5}, 5, 0, 0},
		{[]float64{1, 2, 3, 4, 5}, 3, math.Sqrt(2.5), 2.7764451051978 * math.Sqrt(0.5)},
		{[]float64{2, 4, 4, 4, 5, 5, 7, 9}, 5, 2.1380899352994, 2.3646242515928 * 2.1380899352994 / math.Sqrt(8)},
		// Far from zero the deviation stays: squares are of differences.
		{[]float64{1e9 + 1, 1e9 + 3}, 1e9 + 2, math.Sqrt2, 12.7062047361747},
	} {
		e := EstimateOf(c.xs)
		if e.N != len(c.xs) || !near(e.Mean, c.mean, 1e-9) || !near(e.SD, c.sd, 1e-9) || !near(e.CI95, c.ci95, 1e-9) {
			t.Errorf("%v: %+v, want %v, %v, %v", c.xs, e, c.mean, c.sd, c.ci95)
		}
	}
	if r := (Estimate{2, 1.2345, 0.0049, 3.333, Interval{1.111, 0.999, 2}}).Rounded(2); r != (Estimate{2, 1.23, 0, 3.33, Interval{1.11, 1, 2}}) {
		t.Errorf("rounded: %+v", r)
	}
}

// S4: an interval holds the median, is that of the extremes where measurements are few, and is
// narrow where many agree. It is the same each time.
func TestIntervalOf(t *testing.T) {
	if got := IntervalOf([]float64{7}); got != (Interval{7, 7, 7}) {
		t.Errorf("of one: %+v", got)
	}
	few := []float64{10, 12, 11}
	if got := IntervalOf(few); got != (Interval{11, 10, 12}) || got != IntervalOf(few) {
		t.Errorf("of three: %+v", got)
	}
	if got := IntervalOf([]float64{1, 2}); got.Median != 2 {
		t.Errorf("of two the larger is shown: %+v", got)
	}
	many := []float64{1000} // one that is far off
	for i := range 100 {
		many = append(many, 100+float64(i%10))
	}
	if got := IntervalOf(many); got.Median != 105 || got.Low < 103 || got.High > 106 || got.Low > got.High {
		t.Errorf("of many: %+v", got)
	}
}

// S5: the ratio is that of what stands beside it. The mean of ratios would be 368 here: in one
// round the base stood still.
func TestRatioOf(t *testing.T) {
	xs, base := []float64{340, 345, 350}, []float64{1, 0.5, 1.1}
	got := RatioOf(xs, base)
	if got.Median != 345 || got.Low < 300 || got.High > 700 || got.Low >= got.High {
		t.Errorf("the ratio is %+v, of medians 345 and 1", got)
	}
	if got := RatioOf([]float64{200, 2000, 20}, []float64{2, 20, 0.2}); got != (Interval{100, 100, 100}) {
		t.Errorf("what a round does to both is in the interval: %+v", got)
	}
}

// S4: how often an interval holds the true median, counted over very many samples.
func TestCoverage(t *testing.T) {
	for n, want := range map[int]float64{1: 0, 2: 0.5, 3: 0.75, 4: 0.875, 5: 0.9375} { // of the full range: 1 - 2/2^n
		if got := Coverage(n); !near(got, want, 1e-9) {
			t.Errorf("of %d trials: %v, want %v", n, got, want)
		}
	}
	const samples = 200
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 9, 10} {
		held, xs := 0, make([]float64, n)
		for range samples {
			for i := range xs {
				xs[i] = rng.Float64()
			}
			if e := IntervalOf(xs); e.Low <= 0.5 && 0.5 <= e.High {
				held++
			}
		}
		if got := float64(held) / samples; math.Abs(got-Coverage(n)) > 0.06 {
			t.Errorf("of %d trials: %.3f of the intervals hold the median, want %.3f", n, got, Coverage(n))
		}
	}
	if got := IntervalNote(3); !strings.Contains(got, "3 trials") || !strings.Contains(got, "75 %") || IntervalNote(1) != "" {
		t.Errorf("%q, %q", got, IntervalNote(1))
	}
}
