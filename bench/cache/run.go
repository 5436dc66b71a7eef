package cache

import (
	"context"
	"fmt"
	"runtime"

	"github.com/remora-kv/remora/bench/internal/cpus"
	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/bench/internal/suite"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/cycles"
)

// Env is what a run needs from the program around it.
type Env struct {
	// Providers opens the devices of this process.
	Providers *provider.Set
	// Server is the command line of a process that calls Serve on its standard
	// input and output, and ServerEnv what is added to its environment.
	Server, ServerEnv []string
	// Version is that of the program.
	Version string
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every case and trial.
	Progress func(Progress)
}

// Progress says what is being measured; a step of it is one trial.
type Progress = suite.Progress

// Report is the outcome of a run: rows in the order in which they were measured,
// notes and warnings.
type Report struct {
	Rows []Row
	report.Remarks
}

// Run measures what cfg asks for. On an error it returns what was measured until
// then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	if err := cfg.normalize(); err != nil {
		return nil, err
	}
	if err := cfg.checkFabrics(env.Providers); err != nil {
		return nil, err
	}
	r := &runner{
		Teller: suite.Teller{To: env.Progress, Trials: cfg.Trials},
		cfg:    cfg, env: env, report: &Report{}, cpus: cpus.All(), scale: cycles.Calibrate(),
		loaded: make(map[Case]bool), fitted: make(map[Case]int64),
	}
	all := steps(cfg.plan(), cfg.Trials)
	if err := suite.Run(ctx, &r.Teller, all, r.measure); err != nil {
		return r.report, err
	}
	r.notes(&all[0].Case)
	return r.report, nil
}

// checkFabrics refuses fabrics that are not there.
func (c *Config) checkFabrics(providers *provider.Set) error {
	if c.Server != "" {
		return nil
	}
	for _, path := range c.Paths {
		if !isOurs(path) {
			continue
		}
		for _, name := range c.Fabrics {
			if _, err := suite.Limits(providers, name); err != nil {
				return err
			}
		}
		break
	}
	return nil
}

type runner struct {
	suite.Teller
	cfg    Config
	env    Env
	report *Report
	cpus   []int
	scale  cycles.Scale
	loaded map[Case]bool  // what a running server was given already
	fitted map[Case]int64 // the memory that fit has found
}

// place decides about CPUs.
func (r *runner) place(c *Case) cpus.Placement {
	if r.cfg.Server != "" {
		return cpus.Apart(r.cpus, c.threads())
	}
	return cpus.Split(r.cpus, c.threads(), c.Cores)
}

// measure runs one trial.
func (r *runner) measure(ctx context.Context, s *step) (err error) {
	p := r.place(&s.Case)
	r.report.Warn(p.Warning)
	procs := s.Clients + 2
	if s.Goroutines != 0 {
		procs = max(len(p.Client), 1)
	}
	runtime.GOMAXPROCS(procs)
	r.Tell(0)
	if s.Cache != 0 {
		if s.Memory, err = r.fit(ctx, &s.Case, p); err != nil {
			return err
		}
	}
	t := &trial{runner: r, step: s, place: p}
	switch {
	case isOurs(s.Path):
		t.target = &ours{runner: r, c: &s.Case, place: p}
	case s.Path == PathText:
		t.target = &textual{runner: r, c: &s.Case, place: p}
	default:
		t.target = &other{runner: r, c: &s.Case, place: p}
	}
	defer func() {
		if closed := t.target.close(); err == nil {
			err = closed // after a failure it only repeats what that led to
		}
	}()
	if err := t.target.open(ctx); err != nil {
		return err
	}
	if err := t.load(ctx); err != nil {
		return fmt.Errorf("storing the keys: %w", err)
	}
	row, err := t.run(ctx)
	if err != nil {
		return err
	}
	r.report.Rows = append(r.report.Rows, row)
	r.doubts(&row)
	if r.env.Row != nil {
		return r.env.Row(row)
	}
	return nil
}
