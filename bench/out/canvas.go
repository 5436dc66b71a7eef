package out

import (
	"io"
	"strings"
	"unicode/utf8"
)

// The page, in points: as large as the other figures of the project, with the
// legend beside the plot. A figure with a long legend is higher.
const (
	width, height = 560.0, 300.0
	left, right   = 64.0, 410.0
	top, bottom   = 34.0, 250.0
	legendX       = right + 18
	legendLine    = 17.0
)

// palette are the colours of series, in turn.
var palette = []string{"#F15A60", "#5A9BD4", "#7AC36A", "#FAA75B", "#9E67AB", "#CE7058", "#737373", "#2E8B8B", "#C2779F", "#8C8C2E"}

func color(i int) string { return palette[i%len(palette)] }

const (
	black = "#000000"
	grey  = "#DDDDDD"
)

// spot is a place on the page.
type spot struct{ x, y float64 }

// shape is an element of a picture, which can be written in either form.
type shape interface {
	svg(b *strings.Builder)
	raster(p *painter)
}

// canvas collects the elements of a picture.
type canvas struct {
	shapes []shape
	high   float64 // of the page, when it is more than usual
	exact  bool    // it is that high, also when that is less
}

func (c *canvas) add(s shape) { c.shapes = append(c.shapes, s) }

// height is that of the page.
func (c *canvas) height() float64 {
	if c.exact {
		return c.high
	}
	return max(height, c.high)
}

func (c *canvas) text(x, y float64, anchor string, size int, s string) {
	c.add(text{spot{x, y}, anchor, size, printable(s), false})
}

// upright writes text from the bottom up, its middle at x and y.
func (c *canvas) upright(x, y float64, size int, s string) {
	c.add(text{spot{x, y}, "middle", size, printable(s), true})
}

func (c *canvas) line(x1, y1, x2, y2 float64, color string) {
	c.add(stroke{[]spot{{x1, y1}, {x2, y2}}, color, 1})
}

// path draws lines from spot to spot.
func (c *canvas) path(spots []spot, color string, thick float64) {
	if len(spots) > 0 {
		c.add(stroke{spots, color, thick})
	}
}

func (c *canvas) box(x, y, w, h float64, color string) { c.add(box{spot{x, y}, w, h, color}) }

// mark draws the sign of series i around a point.
func (c *canvas) mark(i int, x, y float64) {
	const r = 3.2
	switch i % 4 {
	case 0:
		c.add(disc{spot{x, y}, r, color(i)})
	case 1:
		c.box(x-r, y-r, 2*r, 2*r, color(i))
	case 2:
		c.add(polygon{[]spot{{x, y - r - 0.8}, {x + r + 0.8, y + r}, {x - r - 0.8, y + r}}, color(i)})
	default:
		c.add(polygon{[]spot{{x, y - r - 1}, {x + r + 1, y}, {x, y + r + 1}, {x - r - 1, y}}, color(i)})
	}
}

// frame draws title, labels and axes.
func (c *canvas) frame(title, xLabel, yLabel string) {
	c.text(width/2, 20, "middle", 13, title)
	c.text((left+right)/2, bottom+36, "middle", 11, xLabel)
	c.upright(14, (top+bottom)/2, 11, yLabel)
	c.line(left, bottom, right, bottom, black)
	c.line(left, top, left, bottom, black)
}

// legend writes the line of series i, and makes room for it.
func (c *canvas) legend(i int, name string, empty bool, line, mark bool) {
	y := top + 6 + float64(i)*legendLine
	c.high = max(c.high, y+legendLine)
	if line {
		c.path([]spot{{legendX, y}, {legendX + 18, y}}, color(i), 1.5)
	}
	if mark {
		c.mark(i, legendX+9, y)
	}
	if empty {
		name += " (not measured)"
	}
	c.text(legendX+24, y+3.5, "start", 10, name)
}

// printable leaves out what XML and fonts cannot show.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 || r >= 0xfffe && r <= 0xffff {
			return -1
		}
		return r
	}, s)
}

// picture is a figure of any kind.
type picture interface{ draw() *canvas }

func writeSVG(w io.Writer, p picture) error { return p.draw().writeSVG(w) }
func writePNG(w io.Writer, p picture) error { return p.draw().writePNG(w) }
