package out

import "io"

// Bars is a figure with groups of bars, in each one for each series.
type Bars struct {
	Title, XLabel, YLabel string
	Groups                []string
	Series                []Row
}

// Row is one series: a value for each group, nil where nothing was measured.
type Row struct {
	Name   string
	Values []*float64
}

// WriteSVG draws the figure.
func (b *Bars) WriteSVG(w io.Writer) error { return writeSVG(w, b) }

// WritePNG draws it in pixels.
func (b *Bars) WritePNG(w io.Writer) error { return writePNG(w, b) }

func (b *Bars) draw() *canvas {
	c := new(canvas)
	largest := 0.0
	for _, s := range b.Series {
		for _, v := range s.Values {
			if v != nil {
				largest = max(largest, *v)
			}
		}
	}
	ys := newYScale(largest)
	ys.draw(c)
	for i, s := range b.Series {
		b.series(c, i, s, ys)
	}
	group := b.groupWidth()
	for g, name := range b.Groups {
		c.text(left+(float64(g)+0.5)*group, bottom+16, "middle", 11, name)
	}
	c.frame(b.Title, b.XLabel, b.YLabel)
	return c
}

func (b *Bars) groupWidth() float64 { return (right - left) / float64(max(len(b.Groups), 1)) }

// series draws the bars of one series and its line of the legend.
func (b *Bars) series(c *canvas, i int, s Row, ys yScale) {
	group := b.groupWidth()
	bar := group * 0.8 / float64(len(b.Series))
	empty := true
	for g, v := range s.Values {
		if v == nil {
			continue
		}
		empty = false
		x := left + float64(g)*group + group*0.1 + float64(i)*bar
		c.box(x, ys.at(*v), bar*0.92, bottom-ys.at(*v), color(i))
	}
	c.box(legendX+4, top+1+float64(i)*legendLine, 10, 10, color(i))
	c.legend(i, s.Name, empty, false, false)
}
