package chart

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// The page, in points: as large as the other figures of the project, with the
// legend beside the plot.
const (
	width, height = 560.0, 300.0
	left, right   = 64.0, 410.0
	top, bottom   = 34.0, 250.0
	legendX       = right + 18
	legendLine    = 17.0
)

// palette are the colours of series, in turn.
var palette = []string{"#F15A60", "#5A9BD4", "#7AC36A", "#FAA75B", "#9E67AB", "#CE7058", "#737373"}

func color(i int) string { return palette[i%len(palette)] }

// canvas collects the elements of a picture.
type canvas struct{ b strings.Builder }

func (c *canvas) add(format string, args ...any) {
	fmt.Fprintf(&c.b, format, args...)
	c.b.WriteByte('\n')
}

func (c *canvas) text(x, y float64, anchor string, size int, s string) {
	c.add(`<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`, x, y, anchor, size, html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, color string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x1, y1, x2, y2, color)
}

func (c *canvas) box(x, y, w, h float64, color string) {
	c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, y, w, h, color)
}

// mark draws the sign of series i around a point.
func (c *canvas) mark(i int, x, y float64) {
	const r = 3.2
	switch i % 4 {
	case 0:
		c.add(`<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`, x, y, r, color(i))
	case 1:
		c.box(x-r, y-r, 2*r, 2*r, color(i))
	case 2:
		c.add(`<path d="M%.1f,%.1fl%.1f,%.1fh%.1fz" fill="%s"/>`, x, y-r-0.8, r+0.8, 2*r+0.8, -2*(r+0.8), color(i))
	default:
		c.add(`<path d="M%.1f,%.1fl%.1f,%.1fl%.1f,%.1fl%.1f,%.1fz" fill="%s"/>`, x, y-r-1, r+1, r+1, -r-1, r+1, -r-1, -r-1, color(i))
	}
}

// frame draws title, labels and axes.
func (c *canvas) frame(title, xLabel, yLabel string) {
	c.text(width/2, 20, "middle", 13, title)
	c.text((left+right)/2, bottom+36, "middle", 11, xLabel)
	c.add(`<text transform="translate(14,%.1f) rotate(-90)" text-anchor="middle" font-size="11">%s</text>`,
		(top+bottom)/2, html.EscapeString(yLabel))
	c.line(left, bottom, right, bottom, "#000000")
	c.line(left, top, left, bottom, "#000000")
}

// writeTo writes the picture.
func (c *canvas) writeTo(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%gpt" viewBox="0 0 %g %g" font-family="Liberation Serif, Times New Roman, serif">
<rect width="%g" height="%g" fill="#FFFFFF"/>
%s</svg>
`, width, height, width, height, width, height, c.b.String())
	return err
}
