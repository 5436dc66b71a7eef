package verbs

import (
	"context"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/fabric/provider"
)

// Env is what a run needs from the program around it.
type Env = bench.Env[Row]

// Report is the outcome of a run: rows, notes and warnings.
type Report struct{ bench.Report[Row] }

// Run measures what cfg asks for, case after case. It always returns a report: on an error, of
// what was measured until then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	report := &Report{}
	if err := cfg.normalize(); err != nil {
		return report, err
	}
	r := &runner{cfg: cfg, Runner: bench.NewRunner[Case](env, cfg.times(), &report.Report)}
	return report, bench.RunEach(ctx, r.Runner, cfg.Fabric, cfg.plan, r.target, r.notes)
}

type runner struct {
	*bench.Runner[Case, Row]
	cfg Config
}

// times says how long trials are.
func (c *Config) times() bench.Times {
	return bench.Times{Duration: c.Duration, Ops: c.Ops, Warmup: c.Warmup, TimedAll: time.Microsecond, Trials: c.Trials}
}

// target makes the target of a case.
func (r *runner) target(c *Case) bench.Target[Row] {
	v := &verbs{runner: r, c: c, place: r.place(c)}
	if c.Kind == kindIdle {
		return &idle{verbs: v}
	}
	return v
}

// place decides about CPUs.
func (r *runner) place(c *Case) placement {
	if r.cfg.Remote {
		return placeApart(c, r.CPUs)
	}
	return placeShared(c, r.CPUs)
}

// loop reports whether the server is in this process.
func (c *Case) loop() bool { return c.Fabric == provider.Loop }
