package out

import (
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// style is how a series looks. The numbers of colours, dashes and markers have no common
// divisor: no two of 280 series look alike, nor two of 56 in black and white.
type style struct {
	color  color.Color
	dashes []vg.Length
	marker draw.GlyphDrawer
}

var (
	palette = []color.RGBA{
		{0x2b, 0x5f, 0xd9, 0xff},
		{0xcf, 0x4a, 0x12, 0xff},
		{0x0b, 0x84, 0x57, 0xff},
		{0x8a, 0x3f, 0xfc, 0xff},
		{0xc7, 0x8a, 0x00, 0xff},
		{0xc2, 0x25, 0x7a, 0xff},
		{0x00, 0x9a, 0xb8, 0xff},
		{0x6f, 0x4e, 0x37, 0xff},
		{0x7a, 0x8f, 0x00, 0xff},
		{0x5a, 0x64, 0x72, 0xff},
	}
	dashes = [][]vg.Length{
		nil, {6, 2}, {2, 2}, {8, 2, 2, 2}, {4, 4}, {8, 2, 2, 2, 2, 2}, {12, 3},
	}
	markers = []draw.GlyphDrawer{
		draw.CircleGlyph{},
		draw.BoxGlyph{},
		draw.PyramidGlyph{},
		draw.RingGlyph{},
		diamond{},
		draw.SquareGlyph{},
		draw.TriangleGlyph{},
		draw.PlusGlyph{},
	}
)

func styleOf(i int) style {
	return style{shade(palette[i%len(palette)], i/len(palette)), dashes[i%len(dashes)], markers[i%len(markers)]}
}

// shade makes a colour darker and then lighter, each time the palette begins anew.
func shade(c color.RGBA, round int) color.Color {
	mix := func(x, with uint8) uint8 { return uint8((int(x)*3 + int(with)*2) / 5) }
	switch round % 3 {
	case 1:
		return color.RGBA{mix(c.R, 0), mix(c.G, 0), mix(c.B, 0), 0xff}
	case 2:
		return color.RGBA{mix(c.R, 0xff), mix(c.G, 0xff), mix(c.B, 0xff), 0xff}
	}
	return c
}

func (s style) line() draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: 1.2, Dashes: s.dashes}
}

// edge is that of a bar.
func (s style) edge() draw.LineStyle {
	return draw.LineStyle{Color: color.Black, Width: 0.5, Dashes: s.dashes}
}

func (s style) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: 2.6, Shape: s.marker}
}

// paper is the marker of what authors found.
func (s style) paper() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: 3.6, Shape: star{}}
}

// diamond is a filled square that stands on a corner.
type diamond struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	r := sty.Radius * 1.3
	var p vg.Path
	p.Move(vg.Point{X: at.X, Y: at.Y + r})
	p.Line(vg.Point{X: at.X + r, Y: at.Y})
	p.Line(vg.Point{X: at.X, Y: at.Y - r})
	p.Line(vg.Point{X: at.X - r, Y: at.Y})
	p.Close()
	c.Fill(p)
}

// star has eight rays on a white disc, so that it can be seen on a bar.
type star struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (star) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	r := sty.Radius
	c.SetColor(color.White)
	draw.CircleGlyph{}.DrawGlyph(c, draw.GlyphStyle{Color: color.White, Radius: r + 1}, at)
	c.SetLineStyle(draw.LineStyle{Color: sty.Color, Width: 1.2})
	for _, d := range []vg.Point{{X: r}, {Y: r}, {X: r * 0.7, Y: r * 0.7}, {X: r * 0.7, Y: -r * 0.7}} {
		var p vg.Path
		p.Move(at.Sub(d))
		p.Line(at.Add(d))
		c.Stroke(p)
	}
}

// sans is the font of figures.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}
