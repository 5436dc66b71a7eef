package out

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	imagecolor "image/color"

	"codeberg.org/go-fonts/liberation/liberationserifregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// dots is how many pixels a point has: 216 to the inch, as printers of papers ask.
const dots = 3

// typeface is the one that SVG names, so that both forms look alike.
var typeface = sync.OnceValues(func() (*opentype.Font, error) { return opentype.Parse(liberationserifregular.TTF) })

// painter turns shapes into pixels.
type painter struct {
	img   *image.RGBA
	font  *opentype.Font
	faces map[int]font.Face // by size
	z     vector.Rasterizer
	err   error // the first
}

// writePNG writes the picture.
func (c *canvas) writePNG(w io.Writer) error {
	f, err := typeface()
	if err != nil {
		return fmt.Errorf("the font of figures: %w", err)
	}
	size := image.Rect(0, 0, int(width*dots), int(math.Ceil(c.height()*dots)))
	p := &painter{img: image.NewRGBA(size), font: f, faces: make(map[int]font.Face)}
	draw.Draw(p.img, size, image.White, image.Point{}, draw.Src)
	for _, s := range c.shapes {
		s.raster(p)
	}
	if p.err != nil {
		return p.err
	}
	return png.Encode(w, p.img)
}

// fill fills a polygon.
func (p *painter) fill(spots []spot, color string) {
	low, high := spots[0], spots[0]
	for _, s := range spots {
		low.x, low.y = min(low.x, s.x), min(low.y, s.y)
		high.x, high.y = max(high.x, s.x), max(high.y, s.y)
	}
	// Only the part of the page that it covers is looked at.
	at := image.Pt(int(math.Floor(low.x*dots)), int(math.Floor(low.y*dots)))
	w, h := int(math.Ceil(high.x*dots))-at.X+1, int(math.Ceil(high.y*dots))-at.Y+1
	z := &p.z
	z.Reset(w, h)
	for i, s := range spots {
		x, y := float32(s.x*dots-float64(at.X)), float32(s.y*dots-float64(at.Y))
		if i == 0 {
			z.MoveTo(x, y)
		} else {
			z.LineTo(x, y)
		}
	}
	z.ClosePath()
	z.Draw(p.img, image.Rect(at.X, at.Y, at.X+w, at.Y+h), image.NewUniform(rgb(color)), image.Point{})
}

// rgb reads a colour such as #5A9BD4.
func rgb(s string) imagecolor.RGBA {
	c := imagecolor.RGBA{A: 0xff}
	_, _ = fmt.Sscanf(s, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

func (x box) raster(p *painter) {
	if x.w > 0 && x.h > 0 {
		a := x.at
		p.fill([]spot{a, {a.x + x.w, a.y}, {a.x + x.w, a.y + x.h}, {a.x, a.y + x.h}}, x.color)
	}
}

func (g polygon) raster(p *painter) { p.fill(g.spots, g.color) }

func (d disc) raster(p *painter) {
	const corners = 24
	var spots []spot
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		spots = append(spots, spot{d.at.x + d.r*cos, d.at.y + d.r*sin})
	}
	p.fill(spots, d.color)
}

func (s stroke) raster(p *painter) {
	for i := 1; i < len(s.spots); i++ {
		a, b := s.spots[i-1], s.spots[i]
		long := math.Hypot(b.x-a.x, b.y-a.y)
		if long == 0 {
			continue
		}
		dx, dy := (b.y-a.y)/long*s.thick/2, (a.x-b.x)/long*s.thick/2
		p.fill([]spot{{a.x + dx, a.y + dy}, {b.x + dx, b.y + dy}, {b.x - dx, b.y - dy}, {a.x - dx, a.y - dy}}, s.color)
	}
}

// face is the font in a size.
func (p *painter) face(size int) font.Face {
	if f := p.faces[size]; f != nil {
		return f
	}
	f, err := opentype.NewFace(p.font, &opentype.FaceOptions{Size: float64(size) * dots, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		p.err = err
		return nil
	}
	p.faces[size] = f
	return f
}

func (t text) raster(p *painter) {
	face := p.face(t.size)
	if face == nil || t.s == "" {
		return
	}
	long := font.MeasureString(face, t.s).Ceil()
	x, y := int(t.at.x*dots), int(t.at.y*dots)
	shift := map[string]int{"start": 0, "middle": long / 2, "end": long}[t.anchor]
	if !t.upright {
		d := font.Drawer{Dst: p.img, Src: image.Black, Face: face, Dot: fixed.P(x-shift, y)}
		d.DrawString(t.s)
		return
	}
	m := face.Metrics()
	up, down := m.Ascent.Ceil(), m.Descent.Ceil()
	flat := image.NewAlpha(image.Rect(0, 0, long, up+down))
	d := font.Drawer{Dst: flat, Src: image.Black, Face: face, Dot: fixed.P(0, up)}
	d.DrawString(t.s)
	turned := image.NewAlpha(image.Rect(0, 0, up+down, long))
	for i := range long {
		for j := range up + down {
			turned.SetAlpha(j, long-1-i, flat.AlphaAt(i, j))
		}
	}
	at := image.Pt(x-up, y+shift-long)
	draw.DrawMask(p.img, turned.Bounds().Add(at), image.Black, image.Point{}, turned, image.Point{}, draw.Over)
}
