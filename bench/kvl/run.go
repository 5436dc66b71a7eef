package kvl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/affinity"
)

// Env is what a run needs from the program around it.
type Env struct {
	// Providers opens the devices of this process.
	Providers *provider.Set
	// Server is the command line of a process that calls Serve on its standard input and
	// output, and ServerEnv what is added to its environment.
	Server, ServerEnv []string
	// Row, when not nil, is called with every row as soon as it is measured.
	Row func(Row) error
	// Progress, when not nil, is called before every case and trial.
	Progress func(bench.Progress)
}

// Run measures what cfg asks for, application after application. On an error it returns
// what was measured until then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	if err := cfg.normalize(); err != nil {
		return nil, err
	}
	if _, err := bench.FabricLimits(env.Providers, cfg.Fabric); err != nil {
		return nil, err
	}
	r := &runner{
		Teller: bench.Teller{To: env.Progress, Trials: cfg.Trials}, cfg: cfg, env: env, report: &Report{},
		place: host.Split(host.CPUs(), 1, 1),
	}
	r.report.Warn(r.place.Warning)
	var plans []group
	for _, name := range cfg.Apps {
		plans = append(plans, group{name: name, cases: cfg.plan(name)})
	}
	err := bench.RunAll(ctx, &r.Teller, plans, r.measure)
	if err == nil {
		r.notes()
	}
	return r.report, err
}

// group is the cases of one application, whose trials are interleaved (M4).
type group struct {
	name  string
	cases []Case
}

// Title names the group.
func (g *group) Title() string { return g.name }

type runner struct {
	bench.Teller
	cfg    Config
	env    Env
	report *Report
	place  host.Placement
}

// measure runs the trials of an application.
func (r *runner) measure(ctx context.Context, g *group) (err error) {
	r.Tell(0)
	var runs []*run
	defer func() {
		for _, u := range runs {
			err = errors.Join(err, u.close())
		}
	}()
	for i := range g.cases {
		u := &run{runner: r, c: &g.cases[i]}
		runs = append(runs, u)
		if err := u.open(ctx); err != nil {
			return fmt.Errorf("%s: %w", u.c.Title(), err)
		}
	}
	defer r.pin()()
	for trial := 1; trial <= r.cfg.Trials; trial++ {
		r.Tell(trial)
		if err := r.trial(ctx, runs, trial); err != nil {
			return err
		}
	}
	return nil
}

// pin keeps this thread on the client's CPU, until what it returns is called.
func (r *runner) pin() (unpin func()) {
	if len(r.place.Client) == 0 {
		return func() {}
	}
	unpin, err := affinity.Pin(r.place.Client[0])
	if err != nil {
		r.report.Warn("the client could not be pinned: " + err.Error())
		return func() {}
	}
	return unpin
}

// trial measures all paths once, and compares their results (M1).
func (r *runner) trial(ctx context.Context, runs []*run, trial int) error {
	results := map[string]*run{}
	for _, u := range runs {
		runtime.GC()
		row, err := u.trial(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", u.c.Title(), err)
		}
		row.Trial = trial
		kind := u.comparable()
		if other := results[kind]; other != nil && other.sum != u.sum {
			return fmt.Errorf("%w: %s: the results are not those of %s", load.ErrValue, u.c.Title(), other.c.Path)
		}
		results[kind] = u
		r.report.Rows = append(r.report.Rows, row)
		if r.env.Row != nil {
			if err := r.env.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// trial measures one path once.
func (u *run) trial(ctx context.Context) (Row, error) {
	row := Row{App: u.c.App, Path: u.c.Path, Fabric: u.c.Fabric, Items: u.items, Window: u.c.Window}
	if err := u.prepare(ctx); err != nil {
		return row, err
	}
	before, err := u.serverCPU()
	if err != nil {
		return row, err
	}
	u.sum = newSum()
	took, err := u.operate(ctx, &row)
	if err != nil {
		return row, err
	}
	all := time.Duration(0) // without what comes before the first of them
	for _, d := range took {
		all += d
	}
	after, err := u.serverCPU()
	if err != nil {
		return row, err
	}
	row.times(took, all)
	if row.Edges != 0 {
		row.Ops = uint64(u.users)
		row.OpsPerSec = load.Round(float64(u.users)/all.Seconds(), 1)
		row.Mean = load.Round(micros(all)/float64(u.users), 3)
	}
	if after != 0 {
		row.ServerCPU = load.Percent(after-before, all, 1)
	}
	return row, nil
}

func (r *runner) notes() {
	r.report.Note("CPUs: client %s, server %s", host.CPUList(r.place.Client), host.CPUList(r.place.Server))
	r.report.Note("data: %g of the sizes of the paper, seed %d; results of all paths were compared", r.cfg.Scale, r.cfg.Seed)
	r.report.Note("reads that do not depend on each other: up to %d in flight; on paths that end with -one, 1", r.cfg.Window)
	r.report.Note("links-two: two workers with that many reads each, on the CPUs of client and server")
	r.report.Note("search: an operation is a visited user; memcached visits %d of them", r.cfg.MemcachedUsers)
	r.report.Note("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
