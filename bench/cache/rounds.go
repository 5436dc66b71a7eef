package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/internal/cycles"
)

// Missing is a case that could not be measured, and why.
type Missing struct {
	Case   Case
	Reason error
}

// RunRounds measures several configurations as one, in rounds: every case once, in an order
// that the seed shuffles for each round, then every case again. What slows the machine for a
// while so hits all alike, and none has always the same one before it. Times, trials, seed and
// server are those of the first configuration. A case whose server cannot be started or loaded
// does not end the run: the report says why it is missing.
//
// config says of each case which of cfgs it came from.
func RunRounds(ctx context.Context, cfgs []Config, env Env) (r *Report, config []int, err error) {
	var cases []Case
	for i := range cfgs {
		c := &cfgs[i]
		if err := c.normalize(); err != nil {
			return nil, nil, err
		}
		if err := c.checkFabrics(env.Providers); err != nil {
			return nil, nil, err
		}
		for _, k := range c.plan() {
			if !slices.Contains(cases, k) {
				cases, config = append(cases, k), append(config, i)
			}
		}
	}
	r, err = runCases(ctx, cfgs[0], env, cases, rounds(cases, cfgs[0].Trials, cfgs[0].Seed), true)
	return r, config, err
}

// rounds puts the trials into order: all of a round before those of the next, shuffled.
func rounds(cases []Case, trials int, seed uint64) []step {
	var out []step
	for trial := 1; trial <= trials; trial++ {
		for _, i := range rand.New(rand.NewPCG(seed, uint64(trial))).Perm(len(cases)) {
			out = append(out, step{cases[i], i, trial})
		}
	}
	return out
}

// runCases measures steps of cases.
func runCases(ctx context.Context, cfg Config, env Env, cases []Case, all []step, tolerant bool) (*Report, error) {
	r := &runner{
		Teller: bench.Teller{To: env.Progress, Trials: cfg.Trials},
		cfg:    cfg, env: env, report: &Report{cases: cases}, cpus: host.CPUs(), scale: cycles.Calibrate(),
		loaded: make(map[Case]bool), fitted: make(map[Case]int64), alone: make(map[Case]float64),
	}
	measure := r.measure
	if tolerant {
		measure = r.tolerate(make(map[int]bool))
	}
	r.watch = bench.NewWatch(&r.report.Remarks, r.scale, r.cpus)
	r.report.Warn(neighbour(cfg.Server))
	if err := bench.RunAll(ctx, &r.Teller, all, measure); err != nil {
		return r.report, err
	}
	r.watch.End()
	if len(all) > 0 {
		r.notes(&all[0].Case)
	}
	return r.report, nil
}

// unready is why a server could not be asked anything.
type unready struct{ error }

func (u unready) Unwrap() error { return u.error }

// tolerate measures, and leaves out the cases in missing and those that turn out so.
func (r *runner) tolerate(missing map[int]bool) func(context.Context, *step) error {
	return func(ctx context.Context, s *step) error {
		if missing[s.index] {
			return nil
		}
		err := r.measure(ctx, s)
		var why unready
		if err == nil || ctx.Err() != nil || !errors.As(err, &why) {
			return err
		}
		missing[s.index] = true
		r.report.Missing = append(r.report.Missing, Missing{s.Case, why.error})
		return nil
	}
}

// notReady marks an error as one of a server that could not be asked anything.
func notReady(err error, format string) error {
	if err == nil {
		return nil
	}
	return unready{fmt.Errorf(format, err)}
}
