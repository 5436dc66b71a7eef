package kvl

import "github.com/remora-kv/remora/bench/out"

// Picture draws the mean time of an operation for each application and path, in that of links.
func (r *Report) Picture() *out.Figure {
	f := &out.Figure{Title: "Time of an operation, with links = 1", Bars: true}
	f.X.Label, f.Y.Label = "application", "times that of links"
	means := map[string]float64{}
	lines := r.medians()
	for i := range lines {
		row := &lines[i].Row
		means[row.what()+" "+row.Path] = row.Mean
		if row.Path == PathLinks && row.Mean != 0 {
			f.X.Names = append(f.X.Names, row.what())
		}
	}
	for _, p := range Paths() {
		s := out.Series{Name: p}
		for i, a := range f.X.Names {
			if m := means[a+" "+p]; m != 0 {
				s.Points = append(s.Points, out.Point{X: float64(i), Y: m / means[a+" "+PathLinks]})
			}
		}
		f.Series = append(f.Series, s)
	}
	return f
}
