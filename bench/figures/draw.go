package figures

import (
	"fmt"
	"io"
	"slices"

	"github.com/remora-kv/remora/bench/out"
)

// WriteSVG draws the figure, of which what was not measured is left out.
func (m *Measured) WriteSVG(w io.Writer) error {
	if m.Bars {
		return m.bars().WriteSVG(w)
	}
	return m.lines().WriteSVG(w)
}

// heading says in the picture what it is, wherever it is shown.
func (m *Measured) heading() string {
	return fmt.Sprintf("HERD Figure %d on %s: %s", m.Number, m.Fabric, m.Title)
}

func (m *Measured) lines() *out.Lines {
	l := &out.Lines{Title: m.heading(), XLabel: m.XLabel, YLabel: m.Y.Label(), Ticks: m.places(), LogX: m.LogX}
	for _, name := range m.series() {
		line := out.Line{Name: name}
		for i := range m.Outcomes {
			o := &m.Outcomes[i]
			if row := o.median(m.Y); o.Series == name && row != nil {
				line.Points = append(line.Points, out.Point{X: o.X, Y: m.Y.of(row)})
			}
		}
		l.Series = append(l.Series, line)
	}
	return l
}

func (m *Measured) bars() *out.Bars {
	b := &out.Bars{Title: m.heading(), XLabel: m.XLabel, YLabel: m.Y.Label(), Groups: m.groups()}
	for _, name := range m.series() {
		row := out.Row{Name: name, Values: make([]*float64, len(b.Groups))}
		for i := range m.Outcomes {
			o := &m.Outcomes[i]
			if median := o.median(m.Y); o.Series == name && median != nil {
				y := m.Y.of(median)
				row.Values[slices.Index(b.Groups, o.Group)] = &y
			}
		}
		b.Series = append(b.Series, row)
	}
	return b
}
