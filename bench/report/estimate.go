package report

import "github.com/remora-kv/remora/bench"

// estimate is the median of a number over trials, with the ends of its interval, which are equal where there is one trial.
type estimate struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"lo"`
	High   float64 `json:"hi"`
}

func estimateOf(xs []float64) estimate {
	e := bench.EstimateOf(xs).Rounded(1)
	return estimate{e.N, e.Median, e.Low, e.High}
}
