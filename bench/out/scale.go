package out

import (
	"fmt"
	"math"

	"github.com/remora-kv/remora/bench/load"
)

// yScale is a vertical axis from 0 to a round number.
type yScale struct {
	top, step float64
}

// newYScale has room for the largest value.
func newYScale(largest float64) yScale {
	if !(largest > 0) || math.IsInf(largest, 0) {
		return yScale{top: 1, step: 1}
	}
	raw := largest / 5
	step := math.Pow10(int(math.Floor(math.Log10(raw))))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if f*step >= raw {
			step *= f
			break
		}
	}
	return yScale{top: math.Ceil(largest*1.0001/step) * step, step: step}
}

func (s yScale) at(y float64) float64 { return bottom - y/s.top*(bottom-top) }

// draw draws the grid and its numbers.
func (s yScale) draw(c *canvas) {
	for i := 0; ; i++ {
		y := float64(i) * s.step
		if y > s.top*1.0001 {
			return
		}
		if i > 0 {
			c.line(left, s.at(y), right, s.at(y), grey)
		}
		c.text(left-6, s.at(y)+3.5, "end", 10, number(y))
	}
}

// number writes a value of an axis: 0, 0.05, 250, 2.5 k, 20 M.
func number(y float64) string {
	if y < 1000 {
		return fmt.Sprintf("%.4g", y)
	}
	for _, u := range []struct {
		at   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if y >= u.at {
			return fmt.Sprintf("%.4g %s", load.Round(y/u.at, 6), u.name)
		}
	}
	return ""
}

// xScale is a horizontal axis on which every tick has its place.
type xScale struct {
	low, high float64
	log       bool
}

func newXScale(ticks []float64, log bool) xScale {
	s := xScale{low: math.Inf(1), high: math.Inf(-1), log: log}
	for _, x := range ticks {
		s.low, s.high = min(s.low, s.value(x)), max(s.high, s.value(x))
	}
	if !(s.high > s.low) {
		s.low, s.high = s.low-1, s.low+1
	}
	return s
}

func (s xScale) value(x float64) float64 {
	if s.log {
		return math.Log2(x)
	}
	return x
}

func (s xScale) at(x float64) float64 {
	const margin = 14
	return left + margin + (s.value(x)-s.low)/(s.high-s.low)*(right-left-2*margin)
}

// round3 keeps three digits.
func round3(x float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	return load.Round(x, 2-int(math.Floor(math.Log10(math.Abs(x)))))
}
