package cache

import (
	"cmp"
	"slices"

	"github.com/remora-kv/remora/bench"
)

// Summary is what all trials of a case say together. Its JSON form is one line of
// `remora bench cache --json --summary`, behind the rows.
type Summary struct {
	// Kind is KindSummary, which tells it from a row.
	Kind   string `json:"kind"`
	Trials int    `json:"trials"`
	// Rate, P50 and P99 are what the trials found, in operations a second and in
	// microseconds.
	Rate bench.Estimate `json:"ops_per_sec"`
	P50  bench.Estimate `json:"p50_us"`
	P99  bench.Estimate `json:"p99_us"`
	// Median is the trial in the middle by operations a second. It says the parameters
	// of all.
	Median Row `json:"median"`

	spread float64 // (max-min)/median of the rates
}

// KindSummary is the kind of a Summary.
const KindSummary = "summary"

// Summaries returns one for each case, in the order of the plan.
func (r *Report) Summaries() []Summary {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.index, b.index) })
	var out []Summary
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end].index == rows[start].index {
			end++
		}
		out = append(out, summaryOf(rows[start:end]))
		start = end
	}
	return out
}

// summaryOf sums up the trials of a case, at least one.
func summaryOf(rows []Row) Summary {
	estimate := func(of func(*Row) float64) bench.Estimate {
		var xs []float64
		for i := range rows {
			xs = append(xs, of(&rows[i]))
		}
		return bench.EstimateOf(xs).Rounded(summaryDigits)
	}
	s := Summary{
		Kind: KindSummary, Trials: len(rows),
		Rate: estimate(func(r *Row) float64 { return r.OpsPerSec }),
		P50:  estimate(func(r *Row) float64 { return r.P50 }),
		P99:  estimate(func(r *Row) float64 { return r.P99 }),
	}
	byRate := slices.Clone(rows)
	slices.SortStableFunc(byRate, func(a, b Row) int { return cmp.Compare(a.OpsPerSec, b.OpsPerSec) })
	s.Median = byRate[len(byRate)/2] // as bench.MedianOf
	if mid := s.Median.OpsPerSec; mid > 0 {
		s.spread = (byRate[len(byRate)-1].OpsPerSec - byRate[0].OpsPerSec) / mid
	}
	return s
}

// summaryDigits are those behind the point of an estimate: nanoseconds.
const summaryDigits = 3

// estimateText writes an estimate for people, nothing where there was one trial.
func estimateText(e bench.Estimate, unit func(float64) string) string {
	if e.N < 2 {
		return ""
	}
	return unit(e.Median) + " (" + unit(e.Low) + " - " + unit(e.High) + ")"
}

// line is one of the table.
func (s *Summary) line() median {
	return median{Median: bench.Median[Row]{Row: s.Median, Trials: s.Trials, Spread: s.spread}, summary: s}
}
