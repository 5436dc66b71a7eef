package out

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a picture of measurements, in the style of papers: lines, or bars side by side.
type Figure struct {
	Title string
	X, Y  Axis
	// Bars draws a bar for each point and not a line, and Flat lays them down: the places of X
	// are one below the other.
	Bars, Flat bool
	// Plain lines have no marker at each point.
	Plain  bool
	Series []Series

	xs, ys span // of what is drawn
}

// Axis is one of a figure.
type Axis struct {
	Label string
	// Unit writes the numbers of the axis, nil: as they are.
	Unit Unit
	Log  bool
	// Ticks are the only places with a number, empty: round ones. Names stand for the places
	// 0, 1, 2 and so on.
	Ticks []float64
	Names []string
}

// Series is one line of a figure, or one bar at each place.
type Series struct {
	Name   string
	Points []Point
	// Paper says that the points are those that the authors of a paper found. They have markers
	// of their own, in the colour of the series that has the same name.
	Paper bool
}

// Point is one measurement. Low and High are the ends of its error bar; equal: it has none.
type Point struct{ X, Y, Low, High float64 }

// dpi is the resolution of pictures in pixels: what printers of papers ask for.
const dpi = 300

// WriteSVG draws the figure; its text stays text.
func (f *Figure) WriteSVG(w io.Writer) error {
	l := f.layout()
	c := vgsvg.New(l.width, l.height)
	l.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Fonts as wide as Liberation's, where that is missing.
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arimo,Arial,Helvetica,'Nimbus Sans',sans-serif;")
	_, err := io.WriteString(w, text)
	return err
}

// WritePNG draws it in pixels.
func (f *Figure) WritePNG(w io.Writer) error {
	l := f.layout()
	c := vgimg.NewWith(vgimg.UseWH(l.width, l.height), vgimg.UseDPI(dpi))
	l.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
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

// The sizes of a figure: a column and a half of a paper, its text as large as captions.
const (
	figureWidth  = 360 * vg.Length(1)
	figureHeight = 200 * vg.Length(1) // without title and legend
	flatLine     = 15 * vg.Length(1)  // of a bar that lies
	legendLine   = 13 * vg.Length(1)
	thumbnail    = 24 * vg.Length(1)
	titleSize    = 10
	labelSize    = 9
	tickSize     = 8
)
