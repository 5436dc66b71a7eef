package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

// minPlaces is how many places a line has of a figure that has a curve.
const minPlaces = 3

// over draws rate and latency over the parameter that has the most values: what a sweep is for.
// Cases that differ in it alone are a line.
func (s *results) over() []Picture {
	axis := -1
	for k := range s.facets {
		f := &s.facets[k]
		if !f.dim.target && s.numeric(f) && s.long(k) && (axis < 0 || len(f.Values) > len(s.facets[axis].Values)) {
			axis = k
		}
	}
	if axis < 0 {
		return nil
	}
	f := &s.facets[axis]
	rate := s.curve(axis, "Throughput over "+f.Name, out.Axis{Label: "operations per second", Unit: out.PerSecond}, func(m *bench.Measure) float64 { return m.OpsPerSec })
	tail := s.curve(axis, "Latency over "+f.Name, out.Axis{Label: "99th percentile of latency", Unit: out.Micro}, func(m *bench.Measure) float64 { return m.P99 })
	about := "The median of the trials, with its interval where there is more than one."
	return []Picture{
		{ID: "over-throughput", Title: rate.Title, About: about, Figure: rate},
		{ID: "over-latency", Title: tail.Title, About: about, Figure: tail},
	}
}

// numeric reports whether all values of a facet are numbers.
func (s *results) numeric(f *facet) bool {
	return !slices.ContainsFunc(s.cases, func(m *measured) bool {
		_, text := m.median.fields[f.dim.field].(string)
		return text
	})
}

// long reports whether a line along a facet has enough places: in a comparison a path with
// batches has two windows, and one without two others.
func (s *results) long(axis int) bool {
	places := map[string]int{}
	for _, m := range s.cases {
		others := slices.Clone(m.parts)
		others[axis] = ""
		places[strings.Join(others, "\x00")]++
	}
	return slices.Max(slices.Collect(maps.Values(places))) >= minPlaces
}

// curve draws a quantity over a facet.
func (s *results) curve(axis int, title string, y out.Axis, of func(*bench.Measure) float64) *out.Figure {
	dim := s.facets[axis].dim
	fig := &out.Figure{Title: title, X: out.Axis{Label: dim.name, Unit: dim.unit}, Y: y}
	low, high := s.cases[0].median, s.cases[0].median
	for _, m := range s.cases {
		x := number(m.median.fields[dim.field])
		if !slices.Contains(fig.X.Ticks, x) {
			fig.X.Ticks = append(fig.X.Ticks, x)
		}
		var ys []float64
		for _, t := range m.rows {
			ys = append(ys, of(t.Measure))
		}
		e := bench.EstimateOf(ys)
		line := s.line(fig, m, axis)
		line.Points = append(line.Points, out.Point{X: x, Y: e.Median, Low: e.Low, High: e.High})
		if of(m.median.Measure) < of(low.Measure) {
			low = m.median
		}
		if of(m.median.Measure) > of(high.Measure) {
			high = m.median
		}
	}
	slices.Sort(fig.X.Ticks)
	const far = 20
	fig.X.Log = fig.X.Ticks[0] > 0 && fig.X.Ticks[len(fig.X.Ticks)-1] >= 8*fig.X.Ticks[0]
	fig.Y.Log = of(low.Measure) > 0 && of(high.Measure) > far*of(low.Measure)
	for i := range fig.Series {
		slices.SortFunc(fig.Series[i].Points, func(a, b out.Point) int { return cmp.Compare(a.X, b.X) })
	}
	return fig
}

// line is the series of a case: named by all that tells it apart but the axis.
func (s *results) line(fig *out.Figure, m *measured, axis int) *out.Series {
	var parts []string
	for k := range s.facets {
		f := &s.facets[k]
		if part := f.dim.part(m.parts[k]); k != axis && part != "" && len(f.Values) > 1 {
			parts = append(parts, part)
		}
	}
	name := cmp.Or(strings.Join(parts, " · "), s.targets[m.target], "all")
	for i := range fig.Series {
		if fig.Series[i].Name == name {
			return &fig.Series[i]
		}
	}
	fig.Series = append(fig.Series, out.Series{Name: name})
	return &fig.Series[len(fig.Series)-1]
}
