package figures

import (
	"fmt"
	"io"
	"slices"

	"github.com/remora-kv/remora/bench/out"
)

// WriteSVG draws the figure, of which what was not measured is left out.
func (m *Measured) WriteSVG(w io.Writer) error { return m.figure().WriteSVG(w) }

// heading says in the picture what it is, wherever it is shown.
func (m *Measured) heading() string {
	return fmt.Sprintf("HERD Figure %d on %s: %s", m.Number, m.Fabric, m.Title)
}

func (m *Measured) figure() *out.Figure {
	f := &out.Figure{Title: m.heading(), Bars: m.Bars}
	f.X = out.Axis{Label: m.XLabel, Log: m.LogX, Ticks: m.places()}
	f.Y = out.Axis{Label: m.Y.name(), Unit: out.PerSecond}
	if m.Y == Latency {
		f.Y.Unit = out.Micro
	}
	if m.Bars {
		f.X.Names, f.X.Ticks = m.groups(), nil
	}
	for _, name := range m.series() {
		line := out.Series{Name: name}
		for i := range m.Outcomes {
			o := &m.Outcomes[i]
			if row := o.median(m.Y); o.Series == name && row != nil {
				x := o.X
				if m.Bars {
					x = float64(slices.Index(f.X.Names, o.Group))
				}
				line.Points = append(line.Points, out.Point{X: x, Y: m.Y.of(row)})
			}
		}
		f.Series = append(f.Series, line)
	}
	return f
}
