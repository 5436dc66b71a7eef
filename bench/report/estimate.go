package report

import "github.com/remora-kv/remora/bench"

// estimate is what the trials say about a number, with the ends of its confidence
// interval, which are equal where there is one trial.
type estimate struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	Low  float64 `json:"lo"`
	High float64 `json:"hi"`
}

func estimateOf(xs []float64) estimate {
	e := bench.EstimateOf(xs).Rounded(1)
	return estimate{e.N, e.Mean, e.SD, max(e.Mean-e.CI95, 0), e.Mean + e.CI95}
}
