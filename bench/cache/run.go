package cache

import (
	"context"
	"fmt"
	"runtime"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/host"

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
	// Client is likewise that of one which calls Drive, for clients that are processes.
	Client, ClientEnv []string
	// Helper is likewise that of one which calls host.Help, for placements with neighbours.
	Helper, HelperEnv []string
	// Version is that of the program.
	Version string
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every case and trial.
	Progress func(Progress)
}

// Progress says what is being measured; a step of it is one trial.
type Progress = bench.Progress

// Report is the outcome of a run: rows in the order in which they were measured,
// notes and warnings.
type Report struct {
	Rows []Row
	bench.Remarks
	// Missing are cases of RunRounds that could not be measured.
	Missing []Missing

	cases []Case // by index of a row
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
	cases := cfg.plan()
	return runCases(ctx, cfg, env, cases, steps(cases, cfg.Trials), false)
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
			if _, err := bench.FabricLimits(providers, name); err != nil {
				return err
			}
		}
		break
	}
	return nil
}

type runner struct {
	bench.Teller
	cfg    Config
	env    Env
	report *Report
	cpus   []int
	scale  cycles.Scale
	loaded map[Case]bool    // what a running server was given already
	fitted map[Case]int64   // the memory that fit has found
	alone  map[Case]float64 // what the generator does for one thread of a load
	watch  *bench.Watch

	// In a client process (C18): the number of its first worker, and how many clients all
	// processes have. 0 where there is only this.
	first, of int

	runID string // names this run to agents
}

// measure runs one trial.
func (r *runner) measure(ctx context.Context, s *step) (err error) {
	p := r.place(&s.Case)
	r.report.Warn(p.Warning)
	runtime.GOMAXPROCS(procs(&s.Case, p))
	r.Tell(0)
	if s.Cache != 0 {
		if s.Memory, err = r.fit(ctx, &s.Case, p); err != nil {
			return err
		}
	}
	alone, err := r.generator(ctx, &s.Case, p)
	if err != nil {
		return fmt.Errorf("the generator alone: %w", err)
	}
	t := &trial{runner: r, step: s, place: p, bare: alone}
	t.target = r.targetOf(&s.Case, p)
	defer func() {
		if closed := t.target.close(); err == nil {
			err = closed // after a failure it only repeats what that led to
		}
	}()
	if err := notReady(t.target.open(ctx), "%w"); err != nil {
		return err
	}
	if err := notReady(t.load(ctx), "storing the keys: %w"); err != nil {
		return err
	}
	row, err := t.runPlaced(ctx)
	if err != nil {
		return err
	}
	row.Generator = alone
	r.doubts(&row, s, p)
	r.report.Rows = append(r.report.Rows, row)
	if r.env.Row != nil {
		return r.env.Row(row)
	}
	return nil
}

// targetOf makes the target of a case.
func (r *runner) targetOf(c *Case, p host.Placement) measured {
	switch {
	case isOurs(c.Path):
		return &ours{runner: r, c: c, place: p}
	case c.Path == PathText:
		return &textual{runner: r, c: c, place: p}
	case c.Path == PathNull:
		return &null{runner: r, c: c, place: p}
	}
	return &other{runner: r, c: c, place: p}
}
