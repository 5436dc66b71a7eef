package cache

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench/internal/cpus"
	"github.com/remora-kv/remora/bench/internal/cputime"
	"github.com/remora-kv/remora/bench/internal/load"
	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/fabric/provider"
)

// trial is one measurement of a target.
type trial struct {
	*runner
	step   *step
	place  cpus.Placement
	target target
}

// load stores all keys, unless the server has them.
func (t *trial) load(ctx context.Context) error {
	if t.cfg.NoLoad {
		return nil
	}
	set := Case{Keys: t.step.Keys, KeySize: t.step.KeySize, ValueSize: t.step.ValueSize}
	if t.cfg.Server != "" && t.loaded[set] {
		return nil
	}
	w, done, err := t.target.loader(ctx)
	if err != nil {
		return err
	}
	budget := load.Budget{Ops: uint64(t.step.Keys), Every: load.SampleEvery}
	sum, err := load.Run(ctx, []load.Worker{w}, budget, t.scale, load.PinInTurn(t.place.Client))
	if err != nil {
		_ = done()
		return t.explain(ctx, err)
	}
	if sum.Errors != 0 {
		_ = done()
		return fmt.Errorf("%d of %d were refused: %w", sum.Errors, t.step.Keys, sum.Why)
	}
	t.loaded[set] = true
	return done()
}

// explain says what an error of a worker came from.
func (t *trial) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return t.target.blame(err)
}

// run warms up and measures.
func (t *trial) run(ctx context.Context) (Row, error) {
	workers, err := t.target.workers(ctx)
	if err != nil {
		return Row{}, err
	}
	runtime.GC()
	every := 1
	if budget, ok := t.warmup(); ok {
		warm, err := t.work(ctx, workers, budget)
		if err != nil {
			return Row{}, err
		}
		every = warm.TimeEvery(t.threads(), timedAll, t.scale)
	}
	t.Tell(t.step.trial)
	before, err := t.target.look(ctx)
	if err != nil {
		return Row{}, err
	}
	sum, err := t.work(ctx, workers, load.Budget{Ops: uint64(t.cfg.Ops), Time: t.cfg.Duration, Every: every})
	if err != nil {
		return Row{}, err
	}
	after, err := t.target.look(ctx)
	if err != nil {
		return Row{}, err
	}
	row := rowOf(t.step, &sum, t.scale)
	row.TimedEvery, row.ClockNanos, row.Seed = every, report.Round(t.scale.Overhead(), 2), t.cfg.Seed
	row.Verbs = after.verbs.Minus(before.verbs).Per(sum.Ops)
	t.charge(&row, &sum, before, after)
	t.report.Warn(disturbance(before, after))
	t.target.describe(&row)
	return row, nil
}

// warmup is what is done before a trial; false: nothing.
func (t *trial) warmup() (load.Budget, bool) {
	b := load.Budget{Ops: uint64(t.cfg.WarmupOps), Time: t.cfg.Warmup, Every: load.SampleEvery}
	return b, t.cfg.WarmupOps != 0 || t.cfg.Ops == 0 && t.cfg.Warmup > 0
}

// timedAll is how long an operation takes where all are timed (C3).
const timedAll = 10 * time.Microsecond

// threads is how many run at the same time.
func (t *trial) threads() int {
	if t.step.Goroutines != 0 {
		return runtime.GOMAXPROCS(0)
	}
	return t.step.Clients
}

// work lets all workers work until their budget is used up.
func (t *trial) work(ctx context.Context, workers []load.Worker, b load.Budget) (load.Tally, error) {
	var pin func(int) error
	if t.step.Goroutines == 0 {
		pin = load.PinInTurn(t.place.Client)
	}
	sum, err := load.Run(ctx, workers, b, t.scale, pin)
	if err != nil {
		err = t.explain(ctx, err)
	}
	return sum, err
}

// charge fills in who has used how much CPU (C7).
func (t *trial) charge(row *Row, sum *load.Tally, before, after glance) {
	elapsed := after.time.Sub(before.time)
	process := after.client - before.client
	drivers := cputime.PerThread && t.step.Goroutines == 0
	loop := t.step.Fabric == provider.Loop
	if drivers {
		row.ClientCPU = report.Percent(sum.CPU, sum.Time(t.scale), 1)
	} else if !loop {
		row.ClientCPU = report.Percent(process, elapsed, 1)
	}
	switch {
	case before.server != nil && after.server != nil:
		row.ServerCPU = report.Percent(*after.server-*before.server, elapsed, 1)
	case loop && drivers:
		row.ServerCPU = report.Percent(max(process-sum.CPU, time.Duration(0)), elapsed, 1)
	}
}
