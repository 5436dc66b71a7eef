package report

import (
	"math"
	"slices"

	"github.com/remora-kv/remora/bench/load"
)

// data is what the program of the page draws, in JSON.
type data struct {
	Targets []string   `json:"targets"`
	Facets  []facet    `json:"facets"`
	Colors  int        `json:"colors"` // of the palette
	Cases   []caseData `json:"cases"`
	// Shares are those of the quantiles of all cases, and Times the middles of the
	// intervals of their time lines, in seconds.
	Shares []float64 `json:"shares"`
	Times  []float64 `json:"times"`
}

// caseData is one case. Numbers that are not known are null.
type caseData struct {
	Label   string     `json:"label"`
	Target  int        `json:"target"`
	Load    string     `json:"load"`
	Facets  []int      `json:"facets"`
	Ops     estimate   `json:"ops"`
	Latency latencies  `json:"us"`
	CDF     []*float64 `json:"cdf"`  // microseconds at each of the shares
	Line    []*float64 `json:"line"` // operations in a second at each of the times
}

type latencies struct {
	Mean float64 `json:"mean"`
	// Of a case that has none they are not known.
	P50  *float64 `json:"p50"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
}

// ranked reports whether a trial has percentiles. A search of bench kvl is timed as a whole: what
// its row has in their place is its mean.
func (t *trial) ranked() bool { return t.Samples != 1 }

// latencies of the median trial.
func (m *measured) latencies() latencies {
	r := m.median
	if !r.ranked() {
		return latencies{Mean: r.Mean}
	}
	return latencies{r.Mean, &r.P50, &r.P95, &r.P99, &r.P999}
}

func (s *results) data() *data {
	d := &data{Targets: s.targets, Facets: s.facets, Colors: len(palette), Shares: s.shares()}
	every, times := s.times()
	d.Times = times
	for _, m := range s.cases {
		d.Cases = append(d.Cases, caseData{
			Label: m.label, Target: m.target, Load: m.load, Facets: m.facets, Ops: m.ops,
			Latency: m.latencies(),
			CDF:     m.cdf(d.Shares), Line: m.line(every, times),
		})
	}
	return d
}

// shares are those of which any case has a quantile.
func (s *results) shares() []float64 {
	var all []float64
	for _, m := range s.cases {
		for _, q := range m.median.Quantiles {
			all = append(all, q[0])
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// cdf is the latency at each of the shares.
func (m *measured) cdf(shares []float64) []*float64 {
	out := make([]*float64, len(shares))
	if !m.median.ranked() {
		return out
	}
	for _, q := range m.median.Quantiles {
		if i, ok := slices.BinarySearch(shares, q[0]); ok {
			us := q[1]
			out[i] = &us
		}
	}
	return out
}

// times are the intervals of the time lines: as long as the longest of any case, so that
// all can be shown over the same times.
func (s *results) times() (every float64, times []float64) {
	last := 0.0
	for _, m := range s.cases {
		if l := m.median.Timeline; l != nil {
			every = max(every, l.EveryMillis/1e3)
			last = max(last, l.EveryMillis/1e3*float64(len(l.Ops)))
		}
	}
	if every <= 0 {
		return 0, nil
	}
	const slack = 1e-6
	for i := range int(last/every + slack) {
		times = append(times, load.Round((float64(i)+0.5)*every, 6))
	}
	return every, times
}

// line is the throughput at each of the times, from intervals that may be shorter.
func (m *measured) line(every float64, times []float64) []*float64 {
	out := make([]*float64, len(times))
	l := m.median.Timeline
	if l == nil {
		return out
	}
	step := l.EveryMillis / 1e3
	end := step * float64(len(l.Ops))
	for i := range times {
		from, to := float64(i)*every, float64(i+1)*every
		if to > end+step/2 {
			break
		}
		ops := 0.0
		for k := int(from / step); k < len(l.Ops) && float64(k)*step < to; k++ {
			common := math.Min(to, float64(k+1)*step) - math.Max(from, float64(k)*step)
			ops += float64(l.Ops[k]) * max(common, 0) / step
		}
		rate := load.Round(ops/every, 1)
		out[i] = &rate
	}
	return out
}
