package out

import (
	"io"
	"math"
)

// Curves is a figure with a curve for each series, over numbers of any size.
type Curves struct {
	Title, XLabel, YLabel string
	// LogX and LogY space numbers by their logarithm; those that are not above 0 are
	// left out then.
	LogX, LogY bool
	// Marks draws a sign at every point.
	Marks  bool
	Series []Line
}

// WriteSVG draws the figure.
func (f *Curves) WriteSVG(w io.Writer) error { return writeSVG(w, f) }

// WritePNG draws it in pixels.
func (f *Curves) WritePNG(w io.Writer) error { return writePNG(w, f) }

func (f *Curves) draw() *canvas {
	c := new(canvas)
	xs, ys := newAxis(f.LogX), newAxis(f.LogY)
	for _, s := range f.Series {
		for _, p := range s.Points {
			if f.shows(p) {
				xs.reach(p.X)
				ys.reach(p.Y)
			}
		}
	}
	xs.settle()
	ys.settle()
	for _, y := range ys.ticks() {
		at := bottom - ys.share(y)*(bottom-top)
		c.line(left, at, right, at, grey)
		c.text(left-6, at+3.5, "end", 10, number(y))
	}
	for _, x := range xs.ticks() {
		at := left + xs.share(x)*(right-left)
		c.line(at, bottom, at, bottom+4, black)
		c.text(at, bottom+16, "middle", 10, number(x))
	}
	c.frame(f.Title, f.XLabel, f.YLabel)
	for i, s := range f.Series {
		var spots []spot
		for _, p := range s.Points {
			if f.shows(p) {
				spots = append(spots, spot{left + xs.share(p.X)*(right-left), bottom - ys.share(p.Y)*(bottom-top)})
			}
		}
		c.path(spots, color(i), 1.5)
		for _, p := range spots {
			if f.Marks {
				c.mark(i, p.x, p.y)
			}
		}
		c.legend(i, s.Name, len(spots) == 0, true, f.Marks)
	}
	return c
}

// shows reports whether a point has a place.
func (f *Curves) shows(p Point) bool {
	bad := func(x float64, log bool) bool { return math.IsNaN(x) || math.IsInf(x, 0) || log && x <= 0 }
	return !bad(p.X, f.LogX) && !bad(p.Y, f.LogY)
}

// axis is one that finds its range: from 0, or by logarithm from a round number.
type axis struct {
	low, high float64
	log       bool
	step      float64 // of one that is not logarithmic
}

func newAxis(log bool) *axis { return &axis{low: math.Inf(1), high: math.Inf(-1), log: log} }

// reach makes room for a number.
func (a *axis) reach(x float64) { a.low, a.high = min(a.low, x), max(a.high, x) }

// settle rounds the range.
func (a *axis) settle() {
	if !a.log {
		s := newYScale(a.high)
		if full := s.top - s.step; full >= a.high*0.9999 {
			s.top = full // it ends at a round number: a share at 1
		}
		a.low, a.high, a.step = 0, s.top, s.step
		return
	}
	if a.low > a.high {
		a.low, a.high = 1, 10
	}
	a.low, a.high = roundDown(a.low), roundUp(a.high)
	if a.low == a.high {
		a.low, a.high = roundDown(a.low*0.9), roundUp(a.high*1.1)
	}
}

// rounds are the round numbers of a decade.
var rounds = []float64{1, 2, 5, 10}

func roundDown(x float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for i := len(rounds) - 1; i > 0; i-- {
		if rounds[i]*decade <= x {
			return rounds[i] * decade
		}
	}
	return decade
}

func roundUp(x float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(x)))
	for _, r := range rounds {
		if r*decade >= x {
			return r * decade
		}
	}
	return 10 * decade
}

// share is how far along the axis a number lies.
func (a *axis) share(x float64) float64 {
	if a.log {
		return math.Log(x/a.low) / math.Log(a.high/a.low)
	}
	return (x - a.low) / (a.high - a.low)
}

// ticks are the numbers that are written.
func (a *axis) ticks() (out []float64) {
	const slack = 1.0001
	if !a.log {
		for i := 0; float64(i)*a.step <= a.high*slack; i++ {
			out = append(out, float64(i)*a.step)
		}
		return out
	}
	every := rounds[:3]
	if a.high/a.low > 2e3 {
		every = rounds[:1]
	}
	for decade := math.Pow(10, math.Floor(math.Log10(a.low))); decade <= a.high*slack; decade *= 10 {
		for _, r := range every {
			if x := r * decade; x*slack >= a.low && x <= a.high*slack {
				out = append(out, x)
			}
		}
	}
	return out
}
