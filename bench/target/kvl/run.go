package kvl

import (
	"context"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
)

// Env is what a run needs from the program around it.
type Env = bench.Env[Row]

// Run measures what cfg asks for, application after application. It always returns a report: on
// an error, of what was measured until then.
func Run(ctx context.Context, cfg Config, env Env) (*Report, error) {
	report := &Report{}
	if err := cfg.normalize(); err != nil {
		return report, err
	}
	if _, err := bench.FabricLimits(env.Providers, cfg.Fabric); err != nil {
		return report, err
	}
	r := &runner{
		cfg:     cfg,
		Runner:  bench.NewRunner[Case](env, bench.Times{Ops: cfg.Ops, Trials: cfg.Trials}, &report.Report),
		results: map[result]outcome{},
	}
	var groups []bench.Group[Case] // M4
	for _, name := range cfg.Apps {
		for _, placement := range cfg.Placements {
			groups = append(groups, bench.Group[Case]{Cases: cfg.plan(name, placement)})
		}
	}
	if err := bench.Run(ctx, r.Runner, groups, r.target); err != nil {
		return report, err
	}
	r.notes()
	return report, nil
}

type runner struct {
	*bench.Runner[Case, Row]
	cfg     Config
	results map[result]outcome
}

// result names those that must be the same: of the trials of an application, those that are
// comparable.
type result struct {
	app, kind string
	trial     int
}

// outcome is the sum of results, and the path that had them.
type outcome struct {
	sum  uint64
	path string
}

func (r *runner) target(c *Case) bench.Target[Row] { return &run{runner: r, c: c, place: r.place(c)} }

// place decides about CPUs. By links-two the client is on that of the server, too.
func (r *runner) place(c *Case) host.Placement {
	p := bench.Sharing(c.Placement).Place(r.CPUs, 1, 1)
	p.Client = p.Client[:min(len(p.Client), 1)] // the others are not used, and need no neighbour
	if c.Path == PathLinksTwo && !slices.Equal(p.Client, p.Server) {
		p.Client = slices.Concat(p.Client, p.Server)
	}
	return p
}

// compare compares the results of a trial with those of the paths before it (M1).
func (r *runner) compare(u *run, trial int) error {
	key := result{u.c.App, u.comparable(), trial}
	if other, ok := r.results[key]; ok && other.sum != u.sum {
		return fmt.Errorf("%w: the results are not those of %s", load.ErrValue, other.path)
	}
	r.results[key] = outcome{u.sum, u.c.Path}
	return nil
}

// pinning says which CPUs client and server were on.
func (r *runner) pinning(c *Case) string {
	p := r.place(c)
	s := "threads were not pinned"
	if len(p.Client) != 0 {
		s = fmt.Sprintf("client %s, server %s", host.CPUList(p.Client), host.CPUList(p.Server))
	}
	if with := p.Company(); with != "" {
		s += ", " + with
	}
	return s
}

// measured reports whether there are rows of a path.
func (r *runner) measured(path string) bool {
	return slices.ContainsFunc(r.Report.Rows, func(row Row) bool { return row.Path == path })
}

func (r *runner) notes() {
	for _, placement := range r.cfg.Placements {
		label, usual := bench.PlacementLabel(placement), r.pinning(&Case{Placement: placement})
		r.Report.Note("%s: %s", label, usual)
		if s := r.pinning(&Case{Path: PathLinksTwo, Placement: placement}); s != usual && r.measured(PathLinksTwo) {
			r.Report.Note("%s, links-two: %s", label, s)
		}
	}
	r.Report.Note("data: %g of the sizes of the paper, seed %d; results of all paths were compared", r.cfg.Scale, r.cfg.Seed)
	r.Report.Note("reads that do not depend on each other: up to %d in flight; on paths that end with -one, 1", r.cfg.Window)
	r.Report.Note("links-two: two workers with that many reads each")
	r.Report.Note("search: an operation is a visited user; memcached visits %d of them", r.cfg.MemcachedUsers)
	r.NoteClock()
	r.NoteProgram("adaptive")
}
