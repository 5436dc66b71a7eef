package preset

import (
	"context"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/bench/kvl"
	"github.com/remora-kv/remora/bench/perf"
)

// cacheWork is a run of bench.
type cacheWork cache.Config

func (w cacheWork) run(ctx context.Context, env *Env, s *Size, p *Point) ([]Row, error) {
	cfg := cache.Config(w)
	if len(cfg.Fabrics) == 0 {
		cfg.Fabrics = []string{s.Fabric}
	}
	if cfg.Keys == 0 {
		cfg.Keys = s.Keys
	}
	cfg.Memory = max(s.Memory, s.Memory*int64(cfg.Cores))
	cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials, cfg.Seed = s.Duration, s.Warmup, s.TrialOps, 1, s.Seed
	r, err := cache.Run(ctx, cfg, env.Cache)
	if r == nil {
		return nil, err
	}
	return rowsOf(env, &r.Remarks, r.Rows, func(m *cache.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// callWork is a run of bench rpc.
type callWork call.Config

func (w callWork) run(ctx context.Context, env *Env, s *Size, p *Point) ([]Row, error) {
	cfg := call.Config(w)
	cfg.Fabric, cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials = s.Fabric, s.Duration, s.Warmup, s.TrialOps, 1
	r, err := call.Run(ctx, cfg, env.Call)
	if r == nil {
		return nil, err
	}
	return rowsOf(env, &r.Remarks, r.Rows, func(m *call.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// perfWork is a run of perf.
type perfWork perf.Config

func (w perfWork) run(ctx context.Context, env *Env, s *Size, p *Point) ([]Row, error) {
	cfg := perf.Config(w)
	cfg.Fabric, cfg.Duration, cfg.Warmup, cfg.Ops, cfg.Trials = s.Fabric, s.Duration, s.Warmup, s.TrialOps, 1
	r, err := perf.Run(ctx, cfg, env.Perf)
	if r == nil {
		return nil, err
	}
	return rowsOf(env, &r.Remarks, r.Rows, func(m *perf.Row) Row {
		return Row{Series: p.Series, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// kvlWork is a run of bench kvl: all paths of an application at once, for their results are
// compared. Its series are the paths.
type kvlWork struct {
	app   string
	paths []string
}

func (w kvlWork) run(ctx context.Context, env *Env, s *Size, _ *Point) ([]Row, error) {
	cfg := kvl.Config{Apps: []string{w.app}, Paths: w.paths, Fabric: s.Fabric, Scale: s.Scale, Ops: s.Ops, MemcachedUsers: s.Ops, Trials: 1, Seed: s.Seed}
	r, err := kvl.Run(ctx, cfg, env.KVL)
	if r == nil {
		return nil, err
	}
	return rowsOf(env, &r.Remarks, r.Rows, func(m *kvl.Row) Row {
		return Row{Series: m.Path, Fabric: m.Fabric, Measure: m.Measure}
	}), err
}

// rowsOf passes on what a benchmark warns of, and makes rows of its rows.
func rowsOf[R any](env *Env, remarks *bench.Remarks, rows []R, row func(*R) Row) (out []Row) {
	env.report.Take(remarks)
	for i := range rows {
		out = append(out, row(&rows[i]))
	}
	return out
}
