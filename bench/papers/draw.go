package papers

import (
	"cmp"
	"math"
	"slices"

	"github.com/remora-kv/remora/bench/out"
)

// Pictures draws the figure, once for each quantity, with the points of the paper beside ours.
func (r *Report) Pictures() (all []*out.Figure) {
	for _, q := range r.Figure.Shows {
		all = append(all, r.picture(q))
	}
	return all
}

func (r *Report) picture(q Quantity) *out.Figure {
	f := &out.Figure{
		Title: r.Figure.Name + " on " + r.Size.Fabric + ": " + r.Figure.Title,
		X:     out.Axis{Label: r.Figure.X}, Y: out.Axis{Label: q.Name, Unit: q.unit},
	}
	if f.X.Ticks = places(r.xs); f.X.Ticks == nil || len(r.xs) < 2 {
		f.Bars, f.X.Ticks, f.X.Names = true, nil, r.xs
	} else {
		f.X.Log = spreads(f.X.Ticks)
		slices.Sort(f.X.Ticks)
	}
	for _, name := range r.names {
		s := out.Series{Name: name}
		for i, x := range r.xs {
			if e := r.estimate(q, name, x); e.N > 0 {
				s.Points = append(s.Points, out.Point{X: at(f, x, i), Y: e.Median, Low: e.Low, High: e.High})
			}
		}
		if !f.Bars {
			slices.SortFunc(s.Points, func(a, b out.Point) int { return cmp.Compare(a.X, b.X) })
		}
		f.Series = append(f.Series, s)
	}
	for _, a := range r.Figure.Authors {
		if a.Of.Name == q.Name {
			f.Series = r.cite(f, a)
		}
	}
	f.Y.Log = apart(f.Series)
	return f
}

// apart reports whether numbers lie so far apart that only their logarithms can be seen.
func apart(all []out.Series) bool {
	const far = 20
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		for _, p := range s.Points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return low > 0 && high > far*low
}

// at is where a place lies, the i-th of the plan.
func at(f *out.Figure, x string, i int) float64 {
	if f.Bars {
		return float64(i)
	}
	return places([]string{x})[0]
}

// cite adds what the authors found, where the figure has a place for it.
func (r *Report) cite(f *out.Figure, a Found) []out.Series {
	k := slices.IndexFunc(f.Series, func(s out.Series) bool { return s.Paper && s.Name == a.Series })
	if k < 0 {
		k = len(f.Series)
		f.Series = append(f.Series, out.Series{Name: a.Series, Paper: true})
	}
	for _, x := range a.X {
		i := slices.Index(r.xs, x)
		if i < 0 && f.Bars {
			continue
		}
		f.Series[k].Points = append(f.Series[k].Points, out.Point{X: at(f, x, i), Y: a.Y})
	}
	return f.Series
}
