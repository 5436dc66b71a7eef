package preset

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench"
)

// Preset is a figure or a table of a paper.
type Preset struct {
	// Name is what the user types, Paper and Figure where it is from.
	Name, Paper, Figure string
	// Title says what it shows, Found what the authors found, Ours what is different here.
	Title, Found, Ours string
	// X names the horizontal axis.
	X string
	// Shows are the quantities in its table.
	Shows []Quantity
	// Points makes the plan for a machine.
	Points func(Size) []Point
}

// Size is how large a preset is measured.
type Size struct {
	// Fabric is that of Remora's paths.
	Fabric string
	// Keys is how many there are, Memory what a server keeps, and Scale the size of the data
	// of the applications of KELI, in those of the paper.
	Keys   int
	Memory int64
	Scale  float64
	// Ops is how many operations an application of KELI does, and when not 0 also the length
	// of all other trials, instead of Duration.
	Ops              int
	TrialOps         int
	Duration, Warmup time.Duration
	// Clients and Cores are the most of each.
	Clients, Cores int
	Trials         int
	Seed           uint64
}

// Default is what takes a minute or two on a machine with so many CPUs.
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

// work is a run of one of the benchmarks: one trial.
type work interface {
	run(ctx context.Context, env *Env, s *Size, p *Point) ([]Row, error)
}

// Row is one trial of one point. Its JSON form is one line of `remora bench figure NAME
// --json`.
type Row struct {
	Preset string `json:"preset"`
	Figure string `json:"figure"`
	Series string `json:"series"`
	// X is the place on the horizontal axis, which Axis names.
	Axis   string `json:"axis"`
	X      string `json:"x"`
	Fabric string `json:"fabric"`
	bench.Measure
}

// Quantity is what a table shows of a row.
type Quantity struct {
	Name string
	of   func(*Row) float64
	text func(float64) string
}

// All returns all presets, in the order of the papers.
func All() []Preset {
	var all []Preset
	for _, of := range [][]Preset{rfpPresets(), rfrpcPresets(), herdPresets(), keliPresets(), protoPresets()} {
		all = append(all, of...)
	}
	return all
}

// Find returns a preset by its name.
func Find(name string) (Preset, error) {
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, fmt.Errorf("there is no preset %q: `remora bench figure` lists them", name)
}
