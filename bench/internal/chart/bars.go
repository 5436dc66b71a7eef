package chart

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
func (b *Bars) WriteSVG(w io.Writer) error {
	var c canvas
	largest := 0.0
	for _, s := range b.Series {
		for _, v := range s.Values {
			if v != nil {
				largest = max(largest, *v)
			}
		}
	}
	ys := newYScale(largest)
	ys.draw(&c)
	for i, s := range b.Series {
		b.draw(&c, i, s, ys)
	}
	group := b.groupWidth()
	for g, name := range b.Groups {
		c.text(left+(float64(g)+0.5)*group, bottom+16, "middle", 11, name)
	}
	c.frame(b.Title, b.XLabel, b.YLabel)
	return c.writeTo(w)
}

func (b *Bars) groupWidth() float64 { return (right - left) / float64(max(len(b.Groups), 1)) }

// draw draws the bars of one series and its line of the legend.
func (b *Bars) draw(c *canvas, i int, s Row, ys yScale) {
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
	y := top + 6 + float64(i)*legendLine
	c.box(legendX+4, y-5, 10, 10, color(i))
	c.text(legendX+24, y+3.5, "start", 10, legend(s.Name, empty))
}
