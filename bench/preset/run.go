package preset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/bench/out"

	"github.com/remora-kv/remora/bench/kvl"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/perf"
)

// Env is what a run needs from the program around it: the environments of the benchmarks.
// Their Row and Progress are not used.
type Env struct {
	Cache cache.Env
	Call  call.Env
	KVL   kvl.Env
	Perf  perf.Env
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every trial.
	Progress func(bench.Progress)

	report *Report
}

// Report is the outcome of a preset.
type Report struct {
	Preset Preset
	Size   Size
	Rows   []Row
	// Missing says why points have no rows.
	Missing []Missing
	bench.Remarks

	xs, names []string // places and series in the order of the plan
}

// Missing is a point that could not be measured.
type Missing struct {
	Series, X string
	Reason    error
}

// Run measures a preset (P2).
func Run(ctx context.Context, p Preset, s Size, env Env) (*Report, error) {
	points := p.Points(s)
	r := &Report{Preset: p, Size: s}
	env.report = r
	for i := range points {
		r.place(points[i].Series, points[i].X)
	}
	for trial := 1; trial <= s.Trials; trial++ {
		order := rand.New(rand.NewPCG(s.Seed, uint64(trial))).Perm(len(points))
		for n, i := range order {
			pt := &points[i]
			if env.Progress != nil {
				env.Progress(bench.Progress{Case: n + 1, Cases: len(points), Trial: trial, Trials: s.Trials, Name: pt.Series + " " + pt.X})
			}
			if err := r.measure(ctx, &env, pt, trial); err != nil {
				return r, err
			}
		}
	}
	r.NoteMachine()
	return r, nil
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

// measure runs one trial of a point (P4).
func (r *Report) measure(ctx context.Context, env *Env, p *Point, trial int) error {
	if slices.ContainsFunc(r.Missing, func(m Missing) bool { return m.Series == p.Series && m.X == p.X }) {
		return nil
	}
	rows, err := p.work.run(ctx, env, &r.Size, p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, load.ErrValue) {
		return fmt.Errorf("%s %s: %w", p.Series, p.X, err)
	}
	if err != nil {
		r.Missing = append(r.Missing, Missing{p.Series, p.X, err})
	}
	for _, row := range rows {
		row.Preset, row.Figure, row.Axis, row.X, row.Trial = r.Preset.Name, r.Preset.Figure, r.Preset.X, p.X, trial
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

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// CSV writes rows for spreadsheets.
type CSV = out.CSV[Row]

// NewCSV makes one that writes to w.
func NewCSV(w io.Writer) *CSV { return out.NewCSV[Row](w) }

// String says of a size what is not in rows.
func (s *Size) String() string {
	return fmt.Sprintf("%s keys, %d trials of %v, at most %d clients and %d server cores, applications at %g of the paper's data; seed %d",
		out.SI(float64(s.Keys)), s.Trials, s.Duration, s.Clients, s.Cores, s.Scale, s.Seed)
}
