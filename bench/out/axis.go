package out

import (
	"math"

	"gonum.org/v1/plot"
)

// apply makes an axis of a plot from this one, whose numbers lie between low and high. length is
// how many characters fit along it.
func (a *Axis) apply(to *plot.Axis, low, high float64, length int) {
	to.Label.Text = printable(a.Label)
	switch {
	case len(a.Names) > 0:
		to.Min, to.Max = -0.5, float64(len(a.Names))-0.5
	case a.Log:
		to.Scale = plot.LogScale{}
		to.Min, to.Max = decades(low, high)
	default:
		to.Min, to.Max = 0, high
		if !(high > 0) {
			to.Max = 1
		}
	}
	if len(a.Ticks) > 0 {
		to.Min, to.Max = a.around(low, high)
	}
	to.Tick.Marker = plot.ConstantTicks(a.thin(to, a.ticks(to), length))
}

// around is a range with room on both sides of the outermost ticks.
func (a *Axis) around(low, high float64) (from, to float64) {
	if a.Log && !(low > 0) { // nothing was measured
		low, high = a.Ticks[0], a.Ticks[0]
	}
	for _, x := range a.Ticks {
		low, high = min(low, x), max(high, x)
	}
	const room = 0.04
	if !a.Log {
		d := max(high-low, 1) * room
		return low - d, high + d
	}
	by := math.Pow(max(high/low, 2), room)
	return low / by, high * by
}

// ticks are the numbers and names along the axis.
func (a *Axis) ticks(to *plot.Axis) (out []plot.Tick) {
	switch {
	case len(a.Names) > 0:
		for i, name := range a.Names {
			out = append(out, plot.Tick{Value: float64(i), Label: printable(name)})
		}
	case len(a.Ticks) > 0:
		for _, x := range a.Ticks {
			out = append(out, plot.Tick{Value: x, Label: a.Unit.Tick(x)})
		}
	case a.Log:
		return a.logTicks(to.Min, to.Max)
	default:
		out = plot.DefaultTicks{}.Ticks(to.Min, to.Max)
		for i := range out {
			if out[i].Label != "" {
				out[i].Label = a.Unit.Tick(out[i].Value)
			}
		}
	}
	return out
}

// thin takes the label of each number that would run into the one before it.
func (a *Axis) thin(to *plot.Axis, ticks []plot.Tick, length int) []plot.Tick {
	if len(a.Names) > 0 {
		return ticks
	}
	end := math.Inf(-1)
	for i, t := range ticks {
		if t.Label == "" {
			continue
		}
		middle, half := to.Norm(t.Value)*float64(length), float64(len([]rune(t.Label)))/2+0.5
		if middle-half < end {
			ticks[i].Label = ""
			continue
		}
		end = middle + half
	}
	return ticks
}

// rounds are the round numbers of a decade.
var rounds = []float64{1, 2, 5, 10}

// decades is the range from a round number to a round number that holds both.
func decades(low, high float64) (from, to float64) {
	if !(low > 0 && high >= low) {
		return 1, 10
	}
	const slack = 1.0001
	from, to = decade(low), 10*decade(high)
	for i := len(rounds) - 1; i >= 0; i-- {
		if x := rounds[i] * decade(low); x <= low*slack {
			from = x
			break
		}
	}
	for _, r := range rounds {
		if x := r * decade(high); x*slack >= high && x > from*slack {
			to = x
			break
		}
	}
	return from, to
}

func decade(x float64) float64 { return math.Pow(10, math.Floor(math.Log10(x))) }

// logTicks has a tick at every whole number of a decade, and labels at 1, or at 1, 2 and 5
// where there are few decades.
func (a *Axis) logTicks(low, high float64) (out []plot.Tick) {
	const slack, few = 1.0001, 150
	for d := decade(low); d <= high*slack; d *= 10 {
		for i := 1; i < 10; i++ {
			t := plot.Tick{Value: d * float64(i)}
			if i == 1 || high/low <= few && (i == 2 || i == 5) {
				t.Label = a.Unit.Tick(t.Value)
			}
			if t.Value*slack >= low && t.Value <= high*slack {
				out = append(out, t)
			}
		}
	}
	return out
}

// shows reports whether a number has a place on the axis.
func (a *Axis) shows(x float64) bool {
	return !math.IsNaN(x) && !math.IsInf(x, 0) && (x > 0 || !a.Log)
}
