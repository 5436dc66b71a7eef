package out

import (
	"fmt"
	"io"
)

// Lines is a figure with a line for each series.
type Lines struct {
	Title, XLabel, YLabel string
	// Ticks are the places on the horizontal axis; LogX spaces them by their
	// logarithm.
	Ticks  []float64
	LogX   bool
	Series []Line
}

// Line is one series.
type Line struct {
	Name   string
	Points []Point
}

// Point is one measurement.
type Point struct{ X, Y float64 }

// WriteSVG draws the figure.
func (l *Lines) WriteSVG(w io.Writer) error { return writeSVG(w, l) }

// WritePNG draws it in pixels.
func (l *Lines) WritePNG(w io.Writer) error { return writePNG(w, l) }

func (l *Lines) draw() *canvas {
	c := new(canvas)
	largest := 0.0
	for _, s := range l.Series {
		for _, p := range s.Points {
			largest = max(largest, p.Y)
		}
	}
	ys, xs := newYScale(largest), newXScale(l.Ticks, l.LogX)
	ys.draw(c)
	for _, x := range l.Ticks {
		c.line(xs.at(x), bottom, xs.at(x), bottom+4, black)
		c.text(xs.at(x), bottom+16, "middle", 10, fmt.Sprintf("%g", x))
	}
	c.frame(l.Title, l.XLabel, l.YLabel)
	for i, s := range l.Series {
		l.series(c, i, s, xs, ys)
	}
	return c
}

// series draws one series and its line of the legend.
func (l *Lines) series(c *canvas, i int, s Line, xs xScale, ys yScale) {
	var spots []spot
	for _, p := range s.Points {
		spots = append(spots, spot{xs.at(p.X), ys.at(p.Y)})
	}
	c.path(spots, color(i), 1.5)
	for _, p := range spots {
		c.mark(i, p.x, p.y)
	}
	c.legend(i, s.Name, len(spots) == 0, true, true)
}
