package papers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
)

// work is a run of one of the benchmarks: one trial.
type work interface {
	run(ctx context.Context, env *Env, r *Report, p *Point) ([]Row, error)
}

// system is a series of a figure: what stands here for a system of the paper.
type system struct{ name, path string }

// grid makes a point for every system at every value.
func grid[V any](systems []system, values []V, set func(c *cache.Config, v V)) (out []Point) {
	for _, v := range values {
		for _, t := range systems {
			c := cache.Config{Paths: []string{t.path}}
			set(&c, v)
			out = append(out, Point{Series: t.name, X: fmt.Sprint(v), work: cacheWork(c)})
		}
	}
	return out
}

// callPoints likewise, of bench rpc.
func callPoints[V any](systems []system, values []V, set func(c *calls.Config, v V)) (out []Point) {
	for _, v := range values {
		for _, t := range systems {
			c := calls.Config{Paths: []string{t.path}}
			set(&c, v)
			out = append(out, Point{Series: t.name, X: fmt.Sprint(v), work: callWork(c)})
		}
	}
	return out
}

// cacheWork is a run of bench cache.
type cacheWork cache.Config

func (w cacheWork) run(ctx context.Context, env *Env, r *Report, p *Point) ([]Row, error) {
	cfg, s := cache.Config(w), &r.Size
	if len(cfg.Fabrics) == 0 {
		cfg.Fabrics = []string{s.Fabric}
	}
	cfg.Keys = cmp.Or(cfg.Keys, s.Keys)
	cfg.Memory = max(s.Memory, s.Memory*int64(cfg.Cores))
	cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials, cfg.Seed = s.Duration, s.Warmup, s.TrialOps, 1, s.Seed
	got, err := cache.Run(ctx, cfg, env.Cache)
	return rowsOf(r, p, &got.Remarks, got.Rows, func(m *cache.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// callWork is a run of bench rpc.
type callWork calls.Config

func (w callWork) run(ctx context.Context, env *Env, r *Report, p *Point) ([]Row, error) {
	cfg, s := calls.Config(w), &r.Size
	cfg.Fabric, cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials = s.Fabric, s.Duration, s.Warmup, s.TrialOps, 1
	got, err := calls.Run(ctx, cfg, env.Calls)
	return rowsOf(r, p, &got.Remarks, got.Rows, func(m *calls.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// verbsWork is a run of bench verbs.
type verbsWork verbs.Config

func (w verbsWork) run(ctx context.Context, env *Env, r *Report, p *Point) ([]Row, error) {
	cfg, s := verbs.Config(w), &r.Size
	cfg.Fabric, cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials = s.Fabric, s.Duration, s.Warmup, s.TrialOps, 1
	cfg.Listen, cfg.Remote = s.Listen, s.Remote
	if len(cfg.Accesses) != 0 {
		cfg.Table = cmp.Or(s.Table, verbs.DefaultTable)
	}
	got, err := verbs.Run(ctx, cfg, env.Verbs)
	return rowsOf(r, p, &got.Remarks, got.Rows, func(m *verbs.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// kvlWork is a run of bench kvl: all paths of an application at once, for their results are
// compared. Its series are the paths.
type kvlWork struct {
	app   string
	paths []string
}

func (w kvlWork) run(ctx context.Context, env *Env, r *Report, p *Point) ([]Row, error) {
	s := &r.Size
	cfg := kvl.Config{Apps: []string{w.app}, Paths: w.paths, Fabric: s.Fabric, Scale: s.Scale, Ops: s.Ops, MemcachedUsers: s.Ops, Trials: 1, Seed: s.Seed}
	got, err := kvl.Run(ctx, cfg, env.KVL)
	return rowsOf(r, p, &got.Remarks, got.Rows, func(m *kvl.Row) Row {
		return Row{Series: m.Path, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// rowsOf keeps what a benchmark says of itself, and of its notes the first of each kind, and makes
// rows of its rows.
func rowsOf[R any](r *Report, p *Point, said *bench.Remarks, rows []R, row func(*R) Row) (out []Row) {
	part := *said
	part.Warnings = nil
	r.Take(&part, strings.TrimSpace(p.Series+" "+p.X))
	for _, s := range said.Warnings {
		r.warn(s)
	}
	for _, note := range said.Notes {
		kind, _, _ := strings.Cut(note, ":")
		if !slices.ContainsFunc(r.Notes, func(s string) bool { return strings.HasPrefix(s, kind+":") }) {
			r.Notes = append(r.Notes, note)
		}
	}
	for i := range rows {
		out = append(out, row(&rows[i]))
	}
	return out
}
