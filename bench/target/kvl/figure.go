package kvl

import (
	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

// Picture draws the mean time of an operation for each application and path, in that of links, on
// a logarithmic axis: a socket takes hundreds of times as long.
func (r *Report) Picture() *out.Figure {
	f := &out.Figure{Title: "Time of an operation, with links = 1", Bars: true}
	f.X.Label, f.Y.Label, f.Y.Log = "application", "times that of links", true
	key := func(row *Row) string { return row.what() + " " + row.Path }
	means := map[string][]float64{} // of all trials
	for i := range r.Rows {
		means[key(&r.Rows[i])] = append(means[key(&r.Rows[i])], r.Rows[i].Mean)
	}
	beside := map[string]float64{} // in the table
	lines := r.medians()
	for i := range lines {
		row := &lines[i].Row
		beside[key(row)] = row.Mean
		if row.Path == PathLinks && row.Mean != 0 {
			f.X.Names = append(f.X.Names, row.what())
		}
	}
	for _, p := range Paths() {
		s := out.Series{Name: p}
		for i, what := range f.X.Names {
			path, links := what+" "+p, what+" "+PathLinks
			n := min(len(means[path]), len(means[links])) // the last round may have failed
			if n == 0 {
				continue
			}
			y, e := beside[path]/beside[links], bench.RatioOf(means[path][:n], means[links][:n])
			s.Points = append(s.Points, out.Point{X: float64(i), Y: y, Low: min(e.Low, y), High: max(e.High, y)})
		}
		f.Series = append(f.Series, s)
	}
	return f
}
