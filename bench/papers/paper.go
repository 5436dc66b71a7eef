package papers

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/remora-kv/remora/bench/out"
)

// Figure is a figure or a table of a paper.
type Figure struct {
	// Name is what the user types; Paper and Number say where it is from.
	Name, Paper, Number string
	// Title says what it shows, Found what the authors found, Ours what is different here.
	Title, Found, Ours string
	// X names the horizontal axis.
	X string
	// Shows are its quantities: for each there is a table and a picture.
	Shows []Quantity
	// Authors are the points that the paper has in numbers (P1).
	Authors []Found
	// Points makes the plan for a machine.
	Points func(Size) []Point
}

// Found is what the authors found for a series at some places.
type Found struct {
	Of     Quantity
	Series string
	Y      float64
	X      []string
}

// Size is how large a figure is measured.
type Size struct {
	// Fabric is that of Remora's paths.
	Fabric string
	// Keys is how many there are, Memory what a server keeps, and Scale the size of the data
	// of the applications of KELI, in those of the paper.
	Keys   int
	Memory int64
	Scale  float64
	// Ops is how many operations an application of KELI does, and TrialOps, when not 0, the
	// length of all other trials, instead of Duration.
	Ops              int
	TrialOps         int
	Duration, Warmup time.Duration
	// Clients and Cores are the most of each.
	Clients, Cores int
	Trials         int
	Seed           uint64
	// Table is the memory that the server of herd-fig7 searches, 0: that of bench verbs.
	Table int
	// Listen and Remote are those of bench verbs: a server on another host.
	Listen string
	Remote bool
}

// Default is what takes a minute or two on a machine with that number of CPUs.
func Default(cpus int) Size {
	return Size{
		Fabric: "shm", Keys: 100_000, Memory: 128 << 20, Scale: 0.01, Ops: 2000,
		Duration: 200 * time.Millisecond, Warmup: 50 * time.Millisecond,
		Clients: max(2*cpus, 4), Cores: max(cpus/2, 1), Trials: 3, Seed: 1,
	}
}

// upTo leaves out what is larger than most, but never the first.
func upTo(list []int, most int) (out []int) {
	for i, n := range list {
		if i == 0 || n <= most {
			out = append(out, n)
		}
	}
	return out
}

// Point is one measurement of a figure. X is its place on the horizontal axis. A work that
// measures several series at once names them itself.
type Point struct {
	Series, X string
	work      work
}

// Quantity is what a table or a picture shows of rows.
type Quantity struct {
	Name string
	of   func(*Row) float64
	text func(float64) string // in a table
	unit out.Unit             // of an axis
}

// The quantities.
var (
	rate = Quantity{"ops/s", func(r *Row) float64 { return r.OpsPerSec }, out.SI, out.PerSecond}
	mean = Quantity{"mean latency", func(r *Row) float64 { return r.Mean }, out.Micros, out.Micro}
	p50  = Quantity{"median latency", func(r *Row) float64 { return r.P50 }, out.Micros, out.Micro}
	p95  = Quantity{"p95 latency", func(r *Row) float64 { return r.P95 }, out.Micros, out.Micro}
	p99  = Quantity{"p99 latency", func(r *Row) float64 { return r.P99 }, out.Micros, out.Micro}

	serverCPU = Quantity{"server CPU", func(r *Row) float64 {
		if r.ServerCPU == nil {
			return math.NaN()
		}
		return *r.ServerCPU
	}, func(x float64) string { return fmt.Sprintf("%.0f %%", x) }, out.Hundredth}
)

// papers are all of them, in the order of their figures.
var papers = []struct {
	name    string
	figures func() []Figure
}{
	{rfpPaper, rfpFigures}, {rfrpcPaper, rfrpcFigures}, {herdPaper, herdFigures}, {keliPaper, keliFigures}, {protoPaper, protoFigures},
}

// All returns all figures, in the order of the papers.
func All() (all []Figure) {
	for _, p := range papers {
		for _, f := range p.figures() {
			f.Paper = p.name
			all = append(all, f)
		}
	}
	return all
}

// Find returns a figure by its name.
func Find(name string) (Figure, error) {
	for _, f := range All() {
		if f.Name == name {
			return f, nil
		}
	}
	return Figure{}, fmt.Errorf("there is no figure %q: `remora bench figure` lists them", name)
}

// places are the numbers on the horizontal axis; nil: these are names.
func places(xs []string) (out []float64) {
	for _, text := range xs {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil
		}
		out = append(out, x)
	}
	return out
}

// spreads reports whether places lie ever farther apart, so that their logarithms are drawn.
func spreads(places []float64) bool {
	sorted := slices.Sorted(slices.Values(places))
	if len(sorted) < 3 || sorted[0] <= 0 {
		return false
	}
	least, most := math.Inf(1), 0.0
	for i := 1; i < len(sorted); i++ {
		least, most = min(least, sorted[i]-sorted[i-1]), max(most, sorted[i]-sorted[i-1])
	}
	const far = 4
	return most >= far*least
}
