package out

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// layout is a figure before it is drawn: the plot, and its legend below, so that it never
// covers a point.
type layout struct {
	width, height vg.Length
	plot          *plot.Plot
	entries       []entry
	columns       int
	legend, cell  vg.Length // its height, and the width of an entry
	// up is the label of the vertical axis. The plotter puts one in the middle of the numbers
	// and not of the page, which on a logarithmic axis pushes the plot down.
	up string
}

// entry is one of the legend.
type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// layout draws the series on a plot.
func (f *Figure) layout() *layout {
	l := &layout{width: figureWidth, height: figureHeight, plot: plot.New()}
	f.dress(l.plot)
	if f.Flat {
		l.height = vg.Length(max(len(f.X.Names), 3))*flatLine + 3*legendLine
		l.width += vg.Length(longest(f.X.Names)) * tickSize / 4
	}
	f.measure()
	slots, order := f.slots()
	for i, s := range f.Series {
		thumbs := f.series(l.plot, &s, styleOf(order[i]), slots, order[i])
		name := printable(s.Name)
		switch {
		case s.Paper:
			name += " (paper)"
		case !slices.ContainsFunc(s.Points, f.shows):
			name += " (not measured)"
		}
		l.entries = append(l.entries, entry{name, thumbs})
	}
	f.axes(l.plot)
	l.up, l.plot.Y.Label.Text = l.plot.Y.Label.Text, ""
	if len(l.entries) == 1 && (f.Flat || l.entries[0].name == "") {
		l.entries = nil
	}
	l.fitLegend()
	return l
}

// dress sets fonts and colours.
func (f *Figure) dress(p *plot.Plot) {
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = wrap(printable(f.Title)), sans(titleSize), 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(labelSize), sans(tickSize)
		a.Padding, a.Tick.Length, a.Label.Padding = 0, 3, 2
	}
	grid := plotter.NewGrid()
	light := draw.LineStyle{Color: color.Gray{0xdd}, Width: 0.5}
	grid.Vertical, grid.Horizontal = light, light
	if f.Flat {
		grid.Horizontal.Color = nil
	} else {
		grid.Vertical.Color = nil
	}
	p.Add(grid)
}

// measure finds the range of both axes, where all series have their places.
func (f *Figure) measure() {
	f.xs, f.ys = span{}, span{}
	xs, ys := &f.xs, &f.ys
	for _, s := range f.Series {
		for _, pt := range s.Points {
			if f.shows(pt) {
				xs.reach(pt.X)
				ys.reach(pt.Y)
				if pt.High > pt.Low {
					ys.reach(pt.High)
				}
			}
		}
	}
	if f.Y.Log {
		if f.Bars {
			ys.low /= 2 // the shortest is a bar, too
		}
		ys.low, ys.high = decades(ys.low, ys.high)
	} else {
		ys.high *= 1.08 // room above the highest
	}
}

// axes sets the numbers of both axes.
func (f *Figure) axes(p *plot.Plot) {
	xs, ys := f.xs, f.ys
	const across, up = 75, 24 // characters that fit
	if f.Flat {
		f.X.apply(&p.Y, xs.low, xs.high, up)
		f.Y.apply(&p.X, ys.low, ys.high*1.06, across-longest(f.X.Names))
		p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0.5
		p.Y.Scale = plot.InvertedScale{Normalizer: p.Y.Scale}
		return
	}
	f.X.apply(&p.X, xs.low, xs.high, across)
	f.Y.apply(&p.Y, ys.low, ys.high, up*2)
	if n := len(f.X.Names); n > 0 {
		p.X.Tick.LineStyle.Width = 0
		if n*(longest(f.X.Names)+2) > across {
			p.X.Tick.Label.Rotation = math.Pi / 7
			p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YTop
		}
	}
}

// span is the range of some numbers.
type span struct {
	low, high float64
	any       bool
}

func (s *span) reach(x float64) {
	if !s.any {
		s.low, s.high, s.any = x, x, true
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
}

// shows reports whether a point has a place.
func (f *Figure) shows(p Point) bool { return f.X.shows(p.X) && f.Y.shows(p.Y) }

// slots is how many bars stand side by side, and order the style of each series: its turn, or
// for what a paper says that of the series with its name.
func (f *Figure) slots() (slots int, order []int) {
	byName := map[string]int{}
	for _, s := range f.Series {
		if !s.Paper {
			byName[s.Name] = slots
			slots++
		}
	}
	next := slots
	at := map[float64]bool{}
	alone := true // no two bars are at one place
	for _, s := range f.Series {
		i, ok := byName[s.Name]
		if !ok {
			i, next = next, next+1
		}
		order = append(order, i)
		for _, p := range s.Points {
			alone = alone && (s.Paper || !at[p.X])
			at[p.X] = true
		}
	}
	if alone {
		slots = 1
	}
	return slots, order
}

// series draws one.
func (f *Figure) series(p *plot.Plot, s *Series, st style, slots, slot int) []plot.Thumbnailer {
	var xys plotter.XYs
	var points []Point
	const share = 0.8 // of a place that its bars fill
	wide := share / float64(slots)
	for _, pt := range s.Points {
		if !f.shows(pt) {
			continue
		}
		if f.Bars {
			pt.X += (float64(slot%slots)+0.5)*wide - share/2
		}
		points = append(points, pt)
		xys = append(xys, f.place(pt.X, pt.Y))
	}
	if s.Paper {
		return []plot.Thumbnailer{scatter(p, xys, st.paper())}
	}
	if f.Bars {
		return f.bars(p, points, st, wide)
	}
	line := &plotter.Line{XYs: xys, LineStyle: st.line()}
	p.Add(line)
	thumbs := []plot.Thumbnailer{line}
	if !f.Plain {
		thumbs = append(thumbs, scatter(p, xys, st.glyph()))
	}
	f.errors(p, points, draw.LineStyle{Color: st.color, Width: 0.8})
	return thumbs
}

// place is where a point is drawn.
func (f *Figure) place(x, y float64) plotter.XY {
	if f.Flat {
		return plotter.XY{X: y, Y: x}
	}
	return plotter.XY{X: x, Y: y}
}

func scatter(p *plot.Plot, xys plotter.XYs, sty draw.GlyphStyle) plot.Thumbnailer {
	marks := &plotter.Scatter{XYs: xys, GlyphStyle: sty}
	p.Add(marks)
	return marks
}

// bars draws bars from the beginning of the axis, with their numbers where they lie.
func (f *Figure) bars(p *plot.Plot, points []Point, st style, wide float64) []plot.Thumbnailer {
	all := &plotter.Polygon{Color: st.color, LineStyle: st.edge()}
	labels := &plotter.Labels{Offset: vg.Point{X: 4}}
	base := 0.0
	if f.Y.Log {
		base = f.ys.low
	}
	for _, pt := range points {
		a, b := pt.X-wide*0.46, pt.X+wide*0.46
		all.XYs = append(all.XYs, plotter.XYs{f.place(a, base), f.place(a, pt.Y), f.place(b, pt.Y), f.place(b, base)})
		labels.XYs = append(labels.XYs, f.place(pt.X, max(pt.Y, pt.High)))
		labels.Labels = append(labels.Labels, f.Y.Unit.Text(pt.Y))
		labels.TextStyle = append(labels.TextStyle, textStyle(tickSize, draw.XLeft))
	}
	p.Add(all)
	if f.Flat {
		p.Add(labels)
	}
	f.errors(p, points, draw.LineStyle{Color: color.Black, Width: 0.8})
	return []plot.Thumbnailer{all}
}

// errors draws the error bars of points that have them.
func (f *Figure) errors(p *plot.Plot, points []Point, sty draw.LineStyle) {
	for _, pt := range points {
		if !(pt.High > pt.Low) {
			continue
		}
		if f.Y.Log {
			pt.Low = max(pt.Low, f.ys.low) // an axis has no zero
		}
		at := plotter.XYs{f.place(pt.X, pt.Y)}
		if f.Flat {
			p.Add(&plotter.XErrorBars{XYs: at, XErrors: plotter.XErrors{{Low: pt.Y - pt.Low, High: pt.High - pt.Y}}, LineStyle: sty, CapWidth: 4})
		} else {
			p.Add(&plotter.YErrorBars{XYs: at, YErrors: plotter.YErrors{{Low: pt.Y - pt.Low, High: pt.High - pt.Y}}, LineStyle: sty, CapWidth: 4})
		}
	}
}

func textStyle(size vg.Length, align text.XAlignment) text.Style {
	return text.Style{Color: color.Black, Font: sans(size), Handler: plot.DefaultTextHandler, XAlign: align, YAlign: draw.YCenter}
}

// fitLegend finds how many columns the legend has, and makes room for it.
func (l *layout) fitLegend() {
	if title := l.plot.Title.Text; title != "" {
		l.height += titleSize + titleSize*1.2*vg.Length(1+strings.Count(title, "\n"))
	}
	if len(l.entries) == 0 {
		return
	}
	sty, wide := textStyle(tickSize, draw.XLeft), vg.Length(0)
	for _, e := range l.entries {
		wide = max(wide, sty.Width(e.name))
	}
	l.cell = wide + thumbnail + 16
	l.columns = min(max(int((l.width-20)/l.cell), 1), len(l.entries))
	rows := (len(l.entries) + l.columns - 1) / l.columns
	l.legend = vg.Length(rows)*legendLine + 4
	l.height += l.legend
}

// draw draws plot and legend.
func (l *layout) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	const edge = 6
	c = draw.Crop(c, edge, -edge-4, edge, -edge)
	all := draw.Crop(c, 0, 0, l.legend, 0)
	if l.up != "" {
		sty := textStyle(labelSize, draw.XCenter)
		sty.Rotation = math.Pi / 2
		c.FillText(sty, vg.Point{X: all.Min.X + labelSize/2, Y: all.Center().Y}, l.up)
		all.Min.X += labelSize + 5
	}
	l.plot.Draw(all)
	for i, e := range l.entries {
		x := c.Min.X + vg.Length(i%l.columns)*l.cell
		top := c.Min.Y + l.legend - 4 - vg.Length(i/l.columns)*legendLine
		cell := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: top - legendLine}, Max: vg.Point{X: x + l.cell, Y: top}}}
		g := plot.NewLegend()
		g.Left, g.Top, g.ThumbnailWidth, g.TextStyle = true, true, thumbnail, textStyle(tickSize, draw.XLeft)
		g.TextStyle.YAlign = draw.YBottom
		g.Add(e.name, e.thumbs...)
		g.Draw(cell)
	}
}

// wrap breaks a title into lines that fit, also in a wider font where Liberation is missing.
func wrap(title string) string {
	sty := textStyle(titleSize, draw.XCenter)
	var lines []string
	line := ""
	for _, word := range strings.Fields(title) {
		if longer := strings.TrimSpace(line + " " + word); line == "" || sty.Width(longer) <= figureWidth*0.7 {
			line = longer
			continue
		}
		lines, line = append(lines, line), word
	}
	return strings.Join(append(lines, line), "\n")
}

// longest is the length of the longest name.
func longest(names []string) (n int) {
	for _, s := range names {
		n = max(n, len([]rune(s)))
	}
	return n
}
