package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
)

// Env is what a run needs from the program around it.
type Env = bench.Env[Row]

// Report is the outcome of a run: rows in the order in which they were measured,
// notes and warnings.
type Report struct {
	bench.Report[Row]
	// Missing are cases of RunRounds that could not be measured.
	Missing []Missing

	cases []Case // by index of a row
}

// Missing is a case that could not be measured, and why.
type Missing struct {
	Case   Case
	Reason error
}

// Run measures what cfg asks for. It always returns a report: on an error, of what was measured
// until then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	if err := cfg.normalize(); err != nil {
		return &Report{}, err
	}
	if err := cfg.checkFabrics(env.Providers); err != nil {
		return &Report{}, err
	}
	r := newRunner(cfg, env, cfg.plan())
	return r.report, r.measure(ctx, together(r.report.cases))
}

// RunRounds measures several configurations as one, in rounds: every case once, in an order
// that the seed shuffles for each round, then every case again. What slows the machine for a
// while so hits all alike, and none has always the same one before it. Times, trials, seed and
// server are those of the first configuration. A case whose server cannot be started or loaded
// does not end the run: the report says why it is missing.
func RunRounds(ctx context.Context, cfgs []Config, env Env) (*Report, error) {
	cases, _, err := planRounds(cfgs, env.Providers)
	if err != nil {
		return &Report{}, err
	}
	r := newRunner(cfgs[0], env, cases)
	r.Missing = r.leaveOut
	return r.report, r.measure(ctx, []bench.Group[Case]{{Cases: cases, Fresh: true, Seed: cfgs[0].Seed}})
}

// planRounds expands several configurations into cases. It says of each case which of cfgs it
// came from: the first, where several ask for the same.
func planRounds(cfgs []Config, providers bench.Opener) (cases []Case, config []int, err error) {
	for i := range cfgs {
		c := &cfgs[i]
		if err := c.normalize(); err != nil {
			return nil, nil, err
		}
		if err := c.checkFabrics(providers); err != nil {
			return nil, nil, err
		}
		for _, k := range c.plan() {
			if !slices.Contains(cases, k) {
				cases, config = append(cases, k), append(config, i)
			}
		}
	}
	return cases, config, nil
}

// checkFabrics refuses fabrics that are not there.
func (c *Config) checkFabrics(providers bench.Opener) error {
	if c.Server != "" {
		return nil
	}
	for _, path := range c.Paths {
		if !isOurs(path) {
			continue
		}
		for _, name := range c.Fabrics {
			if _, err := bench.FabricLimits(providers, name); err != nil {
				return err
			}
		}
		break
	}
	return nil
}

type runner struct {
	*bench.Runner[Case, Row]
	cfg    Config
	report *Report
	loaded map[Case]bool    // what a running server was given already
	fitted map[Case]int64   // the memory that fit has found
	alone  map[Case]float64 // what the generator does for one thread of a load

	// In a client process (C18): the number of its first worker, and how many clients all
	// processes have. 0 where there is only this.
	first, of int

	runID string // names this run to agents
}

func newRunner(cfg Config, env Env, cases []Case) *runner {
	times := bench.Times{
		Duration: cfg.Duration, Ops: cfg.Ops, Warmup: cfg.Warmup, WarmupOps: cfg.WarmupOps, TimedAll: timedAll, Trials: cfg.Trials,
	}
	report := &Report{cases: cases}
	return &runner{
		Runner: bench.NewRunner[Case](env, times, &report.Report), cfg: cfg, report: report,
		loaded: make(map[Case]bool), fitted: make(map[Case]int64), alone: make(map[Case]float64),
	}
}

// timedAll is how long an operation takes where all are timed (C3).
const timedAll = 10 * time.Microsecond

// measure measures groups of the cases of the report.
func (r *runner) measure(ctx context.Context, groups []bench.Group[Case]) error {
	r.report.Warn(neighbour(r.cfg.Server))
	if err := bench.Run(ctx, r.Runner, groups, r.target); err != nil {
		return err
	}
	if len(r.report.cases) > 0 {
		r.notes(&r.report.cases[0])
	}
	return nil
}

// unready is why a server could not be asked anything.
type unready struct{ error }

func (u unready) Unwrap() error { return u.error }

// notReady marks an error as one of a server that could not be asked anything.
func notReady(err error, format string) error {
	if err == nil {
		return nil
	}
	return unready{fmt.Errorf(format, err)}
}

// leaveOut leaves out a case whose server could not be asked anything.
func (r *runner) leaveOut(c *Case, err error) bool {
	var why unready
	if !errors.As(err, &why) {
		return false
	}
	r.report.Missing = append(r.report.Missing, Missing{*c, why.error})
	return true
}

// serverOf makes the way to the server of a case.
func (r *runner) serverOf(c *Case, p host.Placement) measured {
	switch {
	case isOurs(c.Path):
		return &ours{runner: r, c: c, place: p}
	case c.Path == PathNull:
		return &null{runner: r, c: c}
	}
	return &other{runner: r, c: c, place: p}
}
