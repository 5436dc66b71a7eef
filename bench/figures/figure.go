package figures

import (
	"github.com/remora-kv/remora/bench/perf"
)

// Figure is one figure of the paper, as a plan.
type Figure struct {
	// Number is that in the paper.
	Number int
	// Title and About say what is measured; Paper what the authors found, on their
	// hardware.
	Title, About, Paper string
	// XLabel and Y name the axes.
	XLabel string
	Y      Quantity
	// LogX: the horizontal axis is logarithmic. Bars: it has names instead of
	// numbers.
	LogX, Bars bool
	Points     []Point
}

// Point is one measurement of a figure.
type Point struct {
	Series string
	// X is the place on the horizontal axis, Group its name in a figure with bars.
	X     float64
	Group string
	// Config is what perf measures. Fabric, times and trials come from Config.
	Config perf.Config
}

// Quantity is what a figure shows of a row.
type Quantity int

// The quantities.
const (
	Rate Quantity = iota
	Latency
)

// Label names the vertical axis.
func (q Quantity) Label() string {
	if q == Latency {
		return q.name() + ", us"
	}
	return q.name()
}

// name is the label without a unit.
func (q Quantity) name() string {
	if q == Latency {
		return "median latency"
	}
	return "operations in a second"
}

func (q Quantity) of(r *perf.Row) float64 {
	if q == Latency {
		return r.P50
	}
	return r.OpsPerSec
}

// series returns the names of the series, in order.
func (f *Figure) series() []string {
	return unique(f.Points, func(p *Point) string { return p.Series })
}

// groups returns the names on the horizontal axis of a figure with bars.
func (f *Figure) groups() []string {
	return unique(f.Points, func(p *Point) string { return p.Group })
}

// places returns the numbers on the horizontal axis.
func (f *Figure) places() []float64 {
	return unique(f.Points, func(p *Point) float64 { return p.X })
}

// unique returns the different values of a list, in order.
func unique[E any, V comparable](list []E, value func(*E) V) []V {
	seen := map[V]bool{}
	var out []V
	for i := range list {
		if v := value(&list[i]); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}
