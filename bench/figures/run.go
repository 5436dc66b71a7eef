package figures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/perf"
)

// Config says which figures are measured, and how.
type Config struct {
	// Fabric is loop, shm, tcp or rdma. Empty means shm.
	Fabric string
	// Only are the numbers of the figures. Empty means all.
	Only []int
	// Duration and Warmup are those of one trial, Trials how often every point is
	// measured. Zero means the default; a negative Warmup none.
	Duration, Warmup time.Duration
	Trials           int
	// Table is the memory that the server of Figure 7 searches, in bytes. 0 means
	// that of perf.
	Table int
	// Listen and Remote are those of perf: a server on another host.
	Listen string
	Remote bool
}

// Env is what a run needs from the program around it.
type Env struct {
	// Perf starts servers and opens devices; its Row and Progress are not used.
	Perf perf.Env
	// Row, when not nil, is called with every trial as soon as it is measured, and
	// once for every point that cannot be.
	Row func(Row) error
	// Progress, when not nil, is called before every trial.
	Progress func(perf.Progress)
}

// Defaults of a Config.
const (
	DefaultDuration = 200 * time.Millisecond
	DefaultWarmup   = 100 * time.Millisecond
	DefaultTrials   = 3
)

// Outcome is what became of a point.
type Outcome struct {
	Point
	// Rows are its trials.
	Rows []perf.Row
	// Reason says why the fabric cannot measure it, Failures what went wrong in
	// trials that it could have.
	Reason   string
	Failures []string
}

// Measured is a figure with what became of its points.
type Measured struct {
	Figure
	Fabric   string
	Outcomes []Outcome
	// Warnings are what makes its numbers doubtful.
	Warnings []string
}

// Report is the outcome of a run.
type Report struct {
	Config  Config
	Figures []Measured
	// Remarks are the conditions of the measurement, and what makes it doubtful.
	bench.Remarks
	Took time.Duration
}

// Run measures figures, round by round (R2). It returns what was measured also
// with an error.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	plan, err := cfg.plan()
	if err != nil {
		return nil, err
	}
	if _, err := bench.FabricLimits(env.Perf.Providers, cfg.Fabric); err != nil {
		return nil, err
	}
	r := &runner{env: env, report: &Report{Config: cfg}}
	for _, f := range plan {
		m := Measured{Figure: f, Fabric: cfg.Fabric}
		for _, p := range f.Points {
			m.Outcomes = append(m.Outcomes, Outcome{Point: p})
		}
		r.report.Figures = append(r.report.Figures, m)
		r.points += len(f.Points)
	}
	start := time.Now()
	err = r.rounds(ctx)
	r.report.Took = time.Since(start)
	return r.report, errors.Join(err, r.failures())
}

// plan fills in the defaults and returns the figures that were asked for.
func (c *Config) plan() ([]Figure, error) {
	c.defaults()
	var errs bench.Faults
	if c.Duration < 0 {
		errs.Add("--duration %v must not be negative", c.Duration)
	}
	if c.Trials < 0 {
		errs.Add("--trials %d must be at least 1", c.Trials)
	}
	all := Plan(len(host.CPUs()))
	var figures []Figure
	for _, n := range c.Only {
		if !slices.ContainsFunc(all, func(f Figure) bool { return f.Number == n }) {
			errs.Add("--only %d: there are Figures %d to %d", n, all[0].Number, all[len(all)-1].Number)
		}
	}
	for _, f := range all {
		if len(c.Only) != 0 && !slices.Contains(c.Only, f.Number) {
			continue
		}
		for i := range f.Points {
			c.apply(&f.Points[i].Config)
		}
		figures = append(figures, f)
	}
	return figures, errs.Err()
}

func (c *Config) defaults() {
	c.Fabric = cmp.Or(c.Fabric, perf.DefaultFabric)
	c.Duration = cmp.Or(c.Duration, DefaultDuration)
	c.Trials = cmp.Or(c.Trials, DefaultTrials)
	if c.Warmup = cmp.Or(c.Warmup, DefaultWarmup); c.Warmup < 0 {
		c.Warmup = 0
	}
}

// apply completes the configuration of a point.
func (c *Config) apply(p *perf.Config) {
	p.Listen, p.Remote = c.Listen, c.Remote
	p.Fabric, p.Duration, p.Warmup, p.Trials = c.Fabric, c.Duration, c.Warmup, 1
	if len(p.Accesses) != 0 {
		p.Table = cmp.Or(c.Table, perf.DefaultTable)
	}
}

type runner struct {
	env    Env
	report *Report
	points int // in all
	round  int // from 1
	at     int // point, from 1
}

// rounds measures every point once in each round.
func (r *runner) rounds(ctx context.Context) error {
	for r.round = 1; r.round <= r.report.Config.Trials; r.round++ {
		r.at = 0
		for i := range r.report.Figures {
			f := &r.report.Figures[i]
			for k := range f.Outcomes {
				r.at++
				if err := r.measure(ctx, f, &f.Outcomes[k]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measure runs one trial of a point, unless there was a reason not to before. It
// fails only when the run is over.
func (r *runner) measure(ctx context.Context, f *Measured, o *Outcome) error {
	if o.Reason != "" {
		return nil
	}
	if r.env.Progress != nil {
		r.env.Progress(r.progress(f.Number, o))
	}
	env := r.env.Perf
	env.Progress, env.Row = nil, nil
	got, err := perf.Run(ctx, o.Config, env)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, perf.ErrUsage):
		o.Reason = oneLine(err)
		return r.emit(Row{Figure: f.Number, Series: o.Series, X: o.place(), NotMeasured: o.Reason})
	case err != nil:
		o.Failures = append(o.Failures, failed+oneLine(err))
		return r.emit(Row{Figure: f.Number, Series: o.Series, X: o.place(), NotMeasured: failed + oneLine(err)})
	}
	r.remark(f, got)
	for _, row := range got.Rows {
		row.Trial = r.round
		o.Rows = append(o.Rows, row)
		if err := r.emit(Row{Figure: f.Number, Series: o.Series, X: o.place(), Row: &row}); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) emit(row Row) error {
	if r.env.Row == nil {
		return nil
	}
	return r.env.Row(row)
}

// failed begins what is said of a trial that could have been measured.
const failed = "failed: "

// failures is an error that tells how many trials failed (R3).
func (r *runner) failures() error {
	n, first := 0, ""
	for _, f := range r.report.Figures {
		for _, o := range f.Outcomes {
			for _, why := range o.Failures {
				n++
				first = cmp.Or(first, fmt.Sprintf("figure %d, %s at %s: %s", f.Number, o.Series, o.place(), strings.TrimPrefix(why, failed)))
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d trials failed, the first: %s", n, r.points*r.report.Config.Trials, first)
}

// progress says which point is measured.
func (r *runner) progress(number int, o *Outcome) perf.Progress {
	return perf.Progress{
		Case: r.at, Cases: r.points, Trial: r.round, Trials: r.report.Config.Trials,
		Name: fmt.Sprintf("figure %d, %s at %s", number, o.Series, o.place()),
	}
}

// place is where a point is on the horizontal axis.
func (p *Point) place() string {
	if p.Group != "" {
		return p.Group
	}
	return fmt.Sprintf("%g", p.X)
}

// remark keeps the warnings of a measurement, and of its notes the first of each
// kind.
func (r *runner) remark(f *Measured, got *perf.Report) {
	r.report.Take(&got.Remarks)
	f.Warnings = unique(append(f.Warnings, got.Warnings...), func(s *string) string { return *s })
	for _, note := range got.Notes {
		kind, _, _ := strings.Cut(note, ":")
		known := func(s string) bool { return strings.HasPrefix(s, kind+":") }
		if !slices.ContainsFunc(r.report.Notes, known) {
			r.report.Notes = append(r.report.Notes, note)
		}
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// median returns the median trial by the quantity; nil when there is none.
func (o *Outcome) median(q Quantity) *perf.Row {
	if len(o.Rows) == 0 {
		return nil
	}
	rows := slices.Clone(o.Rows)
	slices.SortStableFunc(rows, func(a, b perf.Row) int { return cmp.Compare(q.of(&a), q.of(&b)) })
	return &rows[len(rows)/2]
}

// spread is how far the trials lie apart, as a share of the median.
func (o *Outcome) spread(q Quantity) float64 {
	m := o.median(q)
	if m == nil || q.of(m) == 0 {
		return 0
	}
	low, high := q.of(m), q.of(m)
	for i := range o.Rows {
		low, high = min(low, q.of(&o.Rows[i])), max(high, q.of(&o.Rows[i]))
	}
	return (high - low) / q.of(m)
}

// Count returns how many points were measured, and how many there are.
func (m *Measured) Count() (done, all int) {
	for i := range m.Outcomes {
		if m.Outcomes[i].median(m.Y) != nil {
			done++
		}
	}
	return done, len(m.Outcomes)
}
