package out

import (
	"io"
	"strings"
)

// List is a figure with a bar for each name, one below the other: as high as there
// are many.
type List struct {
	Title, XLabel string
	Bars          []ListBar
}

// ListBar is one of them. Low and High are the ends of its error bar; equal: it has none.
// Group chooses its colour.
type ListBar struct {
	Name             string
	Value, Low, High float64
	Group            int
}

const (
	listLeft  = 200.0
	listRight = width - 60
	listLine  = 19.0
	listNames = 36 // characters
)

// WriteSVG draws the figure.
func (l *List) WriteSVG(w io.Writer) error { return writeSVG(w, l) }

// WritePNG draws it in pixels.
func (l *List) WritePNG(w io.Writer) error { return writePNG(w, l) }

func (l *List) draw() *canvas {
	c := new(canvas)
	largest := 0.0
	for _, b := range l.Bars {
		largest = max(largest, b.Value, b.High)
	}
	scale := newYScale(largest)
	at := func(x float64) float64 { return listLeft + x/scale.top*(listRight-listLeft) }
	end := top + float64(max(len(l.Bars), 1))*listLine + 6
	c.high, c.exact = end+44, true
	for i := 0; float64(i)*scale.step <= scale.top*1.0001; i++ {
		x := float64(i) * scale.step
		c.line(at(x), top, at(x), end, grey)
		c.text(at(x), end+14, "middle", 10, number(x))
	}
	for i, b := range l.Bars {
		y := top + 5 + float64(i)*listLine
		c.text(listLeft-7, y+listLine/2+1, "end", 10, shorten(b.Name))
		c.box(listLeft, y, at(b.Value)-listLeft, listLine-6, color(b.Group))
		tip := at(b.Value)
		if b.High > b.Low {
			middle := y + (listLine-6)/2
			c.line(at(b.Low), middle, at(b.High), middle, black)
			c.line(at(b.Low), middle-3, at(b.Low), middle+3, black)
			c.line(at(b.High), middle-3, at(b.High), middle+3, black)
			tip = max(tip, at(b.High))
		}
		c.text(tip+5, y+listLine/2+1, "start", 10, number(round3(b.Value)))
	}
	c.line(listLeft, top, listLeft, end, black)
	c.line(listLeft, end, listRight, end, black)
	c.text(width/2, 20, "middle", 13, l.Title)
	c.text((listLeft+listRight)/2, end+34, "middle", 11, l.XLabel)
	return c
}

// shorten keeps a name within its column.
func shorten(s string) string {
	if r := []rune(printable(s)); len(r) > listNames {
		return strings.TrimSpace(string(r[:listNames-1])) + "…"
	}
	return s
}
