package bench

import (
	"math"
	"testing"
)

// The values of the usual tables (NIST/SEMATECH e-Handbook, 1.3.6.7.2).
func TestStudentT(t *testing.T) {
	for _, c := range []struct {
		share float64
		df    int
		want  float64
	}{
		{0.95, 1, 12.706},
		{0.95, 2, 4.303},
		{0.95, 3, 3.182},
		{0.95, 4, 2.776},
		{0.95, 5, 2.571},
		{0.95, 9, 2.262},
		{0.95, 10, 2.228},
		{0.95, 29, 2.045},
		{0.95, 30, 2.042},
		{0.95, 100, 1.984},
		{0.99, 4, 4.604},
		{0.90, 7, 1.895},
		{0.95, 1 << 20, 1.960},
	} {
		if got := StudentT(c.share, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("t of %v with %d degrees of freedom is %v, want %v", c.share, c.df, got, c.want)
		}
	}
}

// NIST's data set ZARR13 has mean 9.26146, deviation 0.02278881 and n 195, and NIST gives
// the interval from 9.258242 to 9.264679 (e-Handbook, 1.3.5.2).
func TestIntervalOfTheHandbook(t *testing.T) {
	const n, mean, sd = 195, 9.261460, 0.02278881
	half := StudentT(0.95, n-1) * sd / math.Sqrt(n)
	if math.Abs(mean-half-9.258242) > 2e-6 || math.Abs(mean+half-9.264679) > 2e-6 {
		t.Errorf("the interval is %v to %v", mean-half, mean+half)
	}
}

func TestOf(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }
	for _, c := range []struct {
		xs   []float64
		want Estimate
	}{
		{nil, Estimate{}},
		{[]float64{7}, Estimate{N: 1, Mean: 7}},
		{[]float64{5, 5, 5}, Estimate{N: 3, Mean: 5}},
		// sd of 1..5 is sqrt(2.5); t of 4 is 2.7764451051978.
		{[]float64{1, 2, 3, 4, 5}, Estimate{5, 3, math.Sqrt(2.5), 2.7764451051978 * math.Sqrt(0.5)}},
		// Far from zero the deviation stays: squares are of differences.
		{[]float64{1e9 + 1, 1e9 + 3}, Estimate{2, 1e9 + 2, math.Sqrt2, 12.7062047361747}},
	} {
		got := EstimateOf(c.xs)
		if got.N != c.want.N || !near(got.Mean, c.want.Mean) || !near(got.SD, c.want.SD) || !near(got.CI95, c.want.CI95) {
			t.Errorf("%v: %+v, want %+v", c.xs, got, c.want)
		}
		if got.Low() != got.Mean-got.CI95 || got.High() != got.Mean+got.CI95 {
			t.Errorf("%v: from %v to %v", c.xs, got.Low(), got.High())
		}
	}
	if r := (Estimate{2, 1.2345, 0.0049, 3.333}).Rounded(2); r != (Estimate{2, 1.23, 0, 3.33}) {
		t.Errorf("rounded: %+v", r)
	}
}
