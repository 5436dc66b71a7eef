package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric/provider"
)

// trial is one measurement of a target.
type trial struct {
	*runner
	step   *step
	place  host.Placement
	target measured
	// pressure is what the placement puts on the CPUs; nil in a client process.
	pressure *host.Pressure
	bare     float64 // operations a second that the generator does without a server
}

// load stores all keys, unless the server has them.
func (t *trial) load(ctx context.Context) error {
	if t.cfg.NoLoad || t.step.Trace != "" {
		return nil
	}
	set := Case{
		Keys: t.step.Keys, KeySize: t.step.KeySize, ValueSize: t.step.ValueSize, KeyDist: t.step.KeyDist, ValueDist: t.step.ValueDist,
	}
	if t.cfg.Server != "" && t.loaded[set] {
		return nil
	}
	w, done, err := t.target.loader(ctx)
	if err != nil {
		return err
	}
	if w == nil {
		return done()
	}
	budget := load.Budget{Ops: uint64(t.step.Keys), Every: load.SampleEvery}
	sum, err := load.Run(ctx, []load.Worker{w}, budget, t.scale, load.PinInTurn(t.loaderCPUs()))
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
func (t *trial) run(ctx context.Context) (row Row, err error) {
	h, err := t.hire(ctx)
	if err != nil {
		return Row{}, err
	}
	defer func() {
		if closed := h.close(); err == nil {
			err = closed
		}
	}()
	every := 1
	if budget, ok := t.warmup(); ok {
		warm, err := h.warm(ctx, budget)
		if err != nil {
			return Row{}, err
		}
		every = warm.TimeEvery(t.threads(), timedAll, t.scale)
	}
	t.Tell(t.step.trial)
	before, err := t.look(ctx, h)
	if err != nil {
		return Row{}, err
	}
	sum, used, err := h.measure(ctx, t.budget(every))
	if err != nil {
		return Row{}, err
	}
	if sum.Ops == 0 {
		return Row{}, fmt.Errorf("%w: the trace has no operations, or none was left by the warm-up", ErrUsage)
	}
	after, err := t.look(ctx, h)
	if err != nil {
		return Row{}, err
	}
	row = rowOf(t.step, &sum, every, t.scale)
	row.Seed = t.cfg.Seed
	row.Verbs = after.Verbs.Minus(before.Verbs).Plus(used.verbs).Per(used.ops)
	t.charge(&row, &sum, before, after)
	t.target.describe(&row)
	t.watch.Trial(&row.Measure, &bench.Trial{
		Conditions: bench.Conditions{Place: t.place, Open: row.Rate != 0, InFlight: row.inFlight(), Callers: clientThreads(&t.step.Case, t.place), Alone: t.bare}, Case: t.step.index, Title: t.step.Title(), Before: before, After: after,
	})
	return row, nil
}

// budget is that of a trial.
func (t *trial) budget(every int) load.Budget {
	if t.cfg.once() {
		return load.Budget{Ops: toTheEnd, Every: every}
	}
	return load.Budget{Ops: uint64(t.cfg.Ops), Time: t.cfg.Duration, Every: every}
}

// closeAll ends the reading of traces.
func closeAll(workers []load.Worker) error {
	var errs []error
	for _, w := range workers {
		if d, ok := w.(*driver); ok {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
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
	return t.step.threads()
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
	elapsed := after.Time.Sub(before.Time)
	process := after.Client - before.Client
	drivers := t.step.Processes != 0 || host.PerThread && t.step.Goroutines == 0
	loop := t.step.Fabric == provider.Loop
	if drivers {
		row.ClientCPU = load.Percent(sum.CPU, sum.Time(t.scale), 1)
	} else if !loop {
		row.ClientCPU = load.Percent(process, elapsed, 1)
	}
	switch {
	case before.Server != nil && after.Server != nil:
		row.ServerCPU = load.Percent(*after.Server-*before.Server, elapsed, 1)
	case loop && drivers:
		row.ServerCPU = load.Percent(max(process-sum.CPU, time.Duration(0)), elapsed, 1)
	}
}
