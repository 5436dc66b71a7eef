package kvl

import (
	"strings"

	"github.com/remora-kv/remora/bench/out"
)

// CSV returns all rows with a head.
func (r *Report) CSV() string {
	var b strings.Builder
	w := out.NewCSV[Row](&b)
	for i := range r.Rows {
		_ = w.Write(r.Rows[i]) // to memory
	}
	return b.String()
}

// SVG draws the mean time of an operation for each application and path, in that of links.
func (r *Report) SVG() string {
	f := out.Figure{Title: "Time of an operation, with links = 1", Bars: true}
	f.X.Label, f.Y.Label = "application", "times that of links"
	means := map[string]float64{}
	lines := r.medians()
	for i := range lines {
		row := &lines[i].Row
		means[row.App+" "+row.Path] = row.Mean
	}
	for _, a := range Apps() {
		if means[a+" "+PathLinks] != 0 {
			f.X.Names = append(f.X.Names, a)
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
	var b strings.Builder
	_ = f.WriteSVG(&b) // to memory
	return b.String()
}
