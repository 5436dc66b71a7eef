package chart

import (
	"fmt"
	"io"
	"strings"
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
func (l *Lines) WriteSVG(w io.Writer) error {
	var c canvas
	largest := 0.0
	for _, s := range l.Series {
		for _, p := range s.Points {
			largest = max(largest, p.Y)
		}
	}
	ys, xs := newYScale(largest), newXScale(l.Ticks, l.LogX)
	ys.draw(&c)
	for _, x := range l.Ticks {
		c.line(xs.at(x), bottom, xs.at(x), bottom+4, "#000000")
		c.text(xs.at(x), bottom+16, "middle", 10, fmt.Sprintf("%g", x))
	}
	c.frame(l.Title, l.XLabel, l.YLabel)
	for i, s := range l.Series {
		l.draw(&c, i, s, xs, ys)
	}
	return c.writeTo(w)
}

// draw draws one series and its line of the legend.
func (l *Lines) draw(c *canvas, i int, s Line, xs xScale, ys yScale) {
	var path strings.Builder
	for k, p := range s.Points {
		verb := "L"
		if k == 0 {
			verb = "M"
		}
		fmt.Fprintf(&path, "%s%.1f,%.1f", verb, xs.at(p.X), ys.at(p.Y))
	}
	if path.Len() > 0 {
		c.add(`<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`, path.String(), color(i))
	}
	for _, p := range s.Points {
		c.mark(i, xs.at(p.X), ys.at(p.Y))
	}
	y := top + 6 + float64(i)*legendLine
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="1.5"/>`, legendX, y, legendX+18, y, color(i))
	c.mark(i, legendX+9, y)
	c.text(legendX+24, y+3.5, "start", 10, legend(s.Name, len(s.Points) == 0))
}

// legend is the name of a series, and that there is nothing to be seen of it.
func legend(name string, empty bool) string {
	if empty {
		return name + " (not measured)"
	}
	return name
}
