package bench

import "math"

// Estimate is what a sample says about a quantity.
type Estimate struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // S1
	// CI95 is half of the interval that holds the true mean with 95 % confidence: it is
	// between Mean-CI95 and Mean+CI95 (S2).
	CI95 float64 `json:"ci95"`
}

// confidence is that of CI95.
const confidence = 0.95

// EstimateOf estimates the quantity of which xs are measurements. Of none it is the zero
// Estimate.
func EstimateOf(xs []float64) Estimate {
	e := Estimate{N: len(xs)}
	if e.N == 0 {
		return e
	}
	for _, x := range xs {
		e.Mean += x / float64(e.N)
	}
	if e.N == 1 {
		return e // S3
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - e.Mean) * (x - e.Mean)
	}
	e.SD = math.Sqrt(squares / float64(e.N-1))
	e.CI95 = StudentT(confidence, e.N-1) * e.SD / math.Sqrt(float64(e.N))
	return e
}

// Low and High are the bounds of the interval.
func (e Estimate) Low() float64 { return e.Mean - e.CI95 }

// High is the upper bound.
func (e Estimate) High() float64 { return e.Mean + e.CI95 }

// Rounded has digits behind the point, as rows have.
func (e Estimate) Rounded(digits int) Estimate {
	p := math.Pow10(digits)
	round := func(x float64) float64 { return math.Round(x*p) / p }
	return Estimate{N: e.N, Mean: round(e.Mean), SD: round(e.SD), CI95: round(e.CI95)}
}
