package out

import (
	"fmt"
	"html"
	"io"
	"strings"
)

type (
	// text is written at a place: its start, middle or end, as the anchor says.
	text struct {
		at      spot
		anchor  string
		size    int
		s       string
		upright bool
	}
	// stroke is a line from spot to spot.
	stroke struct {
		spots []spot
		color string
		thick float64
	}
	box struct {
		at    spot
		w, h  float64
		color string
	}
	disc struct {
		at    spot
		r     float64
		color string
	}
	polygon struct {
		spots []spot
		color string
	}
)

func (t text) svg(b *strings.Builder) {
	place := fmt.Sprintf(`x="%.1f" y="%.1f"`, t.at.x, t.at.y)
	if t.upright {
		place = fmt.Sprintf(`transform="translate(%.1f,%.1f) rotate(-90)"`, t.at.x, t.at.y)
	}
	fmt.Fprintf(b, `<text %s text-anchor="%s" font-size="%d">%s</text>`, place, t.anchor, t.size, html.EscapeString(t.s))
}

func (s stroke) svg(b *strings.Builder) {
	if len(s.spots) == 2 && s.thick == 1 {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`,
			s.spots[0].x, s.spots[0].y, s.spots[1].x, s.spots[1].y, s.color)
		return
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"/>`, way(s.spots), s.color, s.thick)
}

func (x box) svg(b *strings.Builder) {
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x.at.x, x.at.y, x.w, x.h, x.color)
}

func (d disc) svg(b *strings.Builder) {
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s"/>`, d.at.x, d.at.y, d.r, d.color)
}

func (g polygon) svg(b *strings.Builder) {
	fmt.Fprintf(b, `<path d="%sz" fill="%s"/>`, way(g.spots), g.color)
}

// way is a path from spot to spot.
func way(spots []spot) string {
	var b strings.Builder
	for i, s := range spots {
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&b, "%s%.1f,%.1f", verb, s.x, s.y)
	}
	return b.String()
}

// writeSVG writes the picture.
func (c *canvas) writeSVG(w io.Writer) error {
	var b strings.Builder
	for _, s := range c.shapes {
		s.svg(&b)
		b.WriteByte('\n')
	}
	h := c.height()
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%gpt" height="%gpt" viewBox="0 0 %g %g" font-family="Liberation Serif, Times New Roman, serif">
<rect width="%g" height="%g" fill="#FFFFFF"/>
%s</svg>
`, width, h, width, h, width, h, b.String())
	return err
}
