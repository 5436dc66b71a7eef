package calls

import (
	"context"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
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

func (r *runner) target(c *Case) bench.Target[Row] { return &calls{runner: r, c: c, place: r.place(c)} }

// place decides about CPUs.
func (r *runner) place(c *Case) host.Placement {
	if r.cfg.Remote {
		return host.Apart(r.CPUs, c.Threads)
	}
	p := c.sharing().Place(r.CPUs, c.Threads, c.Cores)
	if !p.Sharing.Own() && c.Threads != 0 && len(p.Client) != 0 {
		p.Client = p.Client[:min(len(p.Client), c.Threads)] // the others are not used, and need no neighbour
	}
	return p
}

// sharing is what the CPUs of a case are shared with.
func (c *Case) sharing() host.Sharing { return bench.Sharing(c.Placement) }

// inFlight is how many calls are in flight; 0: connections choose that themselves.
func (c *Case) inFlight() int {
	switch {
	case c.Goroutines != 0:
		return c.Clients * c.Goroutines
	case c.Limit != 0:
		return 0
	}
	return c.Clients * c.Window * c.Batch
}

// loop reports whether the server is in this process.
func (c *Case) loop() bool { return c.Fabric == provider.Loop }
