package papers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
)

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

// Env is what a run needs from the program around it: the environments of the benchmarks.
// Their Row and Progress are not used.
type Env struct {
	Cache cache.Env
	Calls calls.Env
	KVL   kvl.Env
	Verbs verbs.Env
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every trial.
	Progress func(bench.Progress)
}

// Report is the outcome of a figure.
type Report struct {
	Figure Figure
	Size   Size
	// Missing says why points have no rows, or fewer than the others.
	Missing []Missing
	bench.Report[Row]

	xs, names []string // places and series in the order of the plan
	failed    int      // trials
	kinds     []string // of the warnings, in their order
	alike     []int    // how many there are of each kind
}

// Missing is a point that could not be measured: Impossible here, or it failed.
type Missing struct {
	Series, X  string
	Reason     error
	Impossible bool
}

// Run measures a figure (P2). On an error it returns what was measured until then.
func Run(ctx context.Context, f Figure, s Size, env Env) (*Report, error) {
	if _, err := bench.FabricLimits(env.Verbs.Providers, s.Fabric); err != nil {
		return nil, err
	}
	points := f.Points(s)
	r := &Report{Figure: f, Size: s}
	for i := range points {
		r.place(points[i].Series, points[i].X)
	}
	round := bench.Group[Point]{Cases: points, Seed: s.Seed}
	for trial := 1; trial <= s.Trials; trial++ {
		for n, i := range round.Order(trial) {
			pt := &points[i]
			if env.Progress != nil {
				env.Progress(bench.Progress{Case: n + 1, Cases: len(points), Trial: trial, Trials: s.Trials, Name: pt.Series + " " + pt.X})
			}
			if err := r.measure(ctx, &env, pt, trial); err != nil {
				r.finish()
				return r, err
			}
		}
	}
	r.finish()
	return r, r.failure(len(points) * s.Trials)
}

// place remembers the order of series and places.
func (r *Report) place(series, x string) {
	if series != "" && !slices.Contains(r.names, series) {
		r.names = append(r.names, series)
	}
	if !slices.Contains(r.xs, x) {
		r.xs = append(r.xs, x)
	}
}

// measure runs one trial of a point (P4). It fails only when the run is over.
func (r *Report) measure(ctx context.Context, env *Env, p *Point, trial int) error {
	if slices.ContainsFunc(r.Missing, func(m Missing) bool { return m.Impossible && m.Series == p.Series && m.X == p.X }) {
		return nil
	}
	rows, err := p.work.run(ctx, env, r, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, load.ErrValue) {
		return fmt.Errorf("%s %s: %w", p.Series, p.X, err)
	}
	if err != nil {
		m := Missing{p.Series, p.X, err, errors.Is(err, bench.ErrUsage) || errors.Is(err, target.ErrMissing)}
		r.Missing = append(r.Missing, m)
		if !m.Impossible {
			r.failed++
		}
	}
	for _, row := range rows {
		row.Preset, row.Figure, row.Axis, row.X, row.Trial = r.Figure.Name, r.Figure.Number, r.Figure.X, p.X, trial
		r.place(row.Series, row.X)
		r.Rows = append(r.Rows, row)
		if env.Row != nil {
			if err := env.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// warn keeps the first warning of each kind: they are alike up to their first number. Every
// trial of a point is a run of its own, and would warn of its own numbers.
func (r *Report) warn(s string) {
	kind, _, _ := strings.Cut(s, firstDigit(s))
	i := slices.Index(r.kinds, kind)
	if i < 0 {
		i, r.kinds, r.alike = len(r.kinds), append(r.kinds, kind), append(r.alike, 0)
		r.Warnings = append(r.Warnings, s)
	}
	r.alike[i]++
}

// firstDigit is the first digit of s; a character that no warning has where there is none.
func firstDigit(s string) string {
	if i := strings.IndexAny(s, "0123456789"); i >= 0 {
		return s[i : i+1]
	}
	return "\x00"
}

// finish says how many warnings there were of each kind, and judges the trials of each point
// together (P5): those of one are runs of their own, which cannot. Rows, whose rounds were
// shuffled, are then in the order of the plan.
func (r *Report) finish() {
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(r.names, a.Series), slices.Index(r.names, b.Series)), cmp.Compare(slices.Index(r.xs, a.X), slices.Index(r.xs, b.X)))
	})
	for i, n := range r.alike {
		if n > 1 {
			r.Warnings[i] += fmt.Sprintf(" (the first of %d such warnings; rows have all)", n)
		}
	}
	r.Judge()
}

// failure is an error that tells how many trials failed.
func (r *Report) failure(all int) error {
	for _, m := range r.Missing {
		if !m.Impossible {
			return fmt.Errorf("%d of %d trials failed, the first: %s at %s: %w", r.failed, all, cmp.Or(m.Series, r.Figure.Name), m.X, m.Reason)
		}
	}
	return nil
}

// String says of a size what is not in rows.
func (s *Size) String() string {
	return fmt.Sprintf("%s keys, %d trials of %v, at most %d clients and %d server cores, applications at %g of the paper's data; seed %d",
		out.SI(float64(s.Keys)), s.Trials, s.Duration, s.Clients, s.Cores, s.Scale, s.Seed)
}
