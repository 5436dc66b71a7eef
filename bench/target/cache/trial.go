package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric/provider"
)

// trial is the target of one trial: a case with a server of its own.
type trial struct {
	*runner
	c      *Case // a copy
	index  int   // of the case
	place  host.Placement
	server measured
	alone  float64 // what the generator does
	used   effort  // of the last run
	// Those who do the operations: threads or goroutines of this process, or other processes.
	workers []load.Worker
	crew    *crew
}

// effort is what a run took beside what was counted: all operations in its time, and the verbs
// that other processes have posted for them.
type effort struct {
	ops   uint64
	verbs load.Verbs
}

// target makes the target of a trial.
func (r *runner) target(c *Case) bench.Target[Row] {
	one := *c
	t := &trial{runner: r, c: &one, index: slices.Index(r.report.cases, one), place: r.place(&one)}
	t.server = r.serverOf(t.c, t.place)
	return t
}

// Conditions implements bench.Target.
func (t *trial) Conditions() bench.Conditions {
	return bench.Conditions{
		Place: t.place, Server: t.server.pid(), Callers: clientThreads(t.c, t.place), Pinned: t.c.Processes != 0 || t.c.Goroutines == 0,
		Procs: procs(t.c, t.place), Loop: t.c.Fabric == provider.Loop, Open: t.c.Rate != 0,
	}
}

// Start implements bench.Target: it starts the server and stores all keys.
func (t *trial) Start(ctx context.Context) (err error) {
	if t.c.Cache != 0 {
		if t.c.Memory, err = t.fit(ctx, t.c, t.place); err != nil {
			return err
		}
	}
	if t.alone, err = t.generator(ctx, t.c, t.place); err != nil {
		return fmt.Errorf("the generator alone: %w", err)
	}
	if err := notReady(t.server.open(ctx), "%w"); err != nil {
		return err
	}
	return notReady(t.load(ctx), "storing the keys: %w")
}

// load stores all keys, unless the server has them.
func (t *trial) load(ctx context.Context) error {
	if t.cfg.NoLoad || t.c.Trace != "" {
		return nil
	}
	set := Case{
		Keys: t.c.Keys, KeySize: t.c.KeySize, ValueSize: t.c.ValueSize, KeyDist: t.c.KeyDist, ValueDist: t.c.ValueDist,
	}
	if t.cfg.Server != "" && t.loaded[set] {
		return nil
	}
	w, done, err := t.server.loader(ctx)
	if err != nil {
		return err
	}
	if w == nil {
		return done()
	}
	budget := load.Budget{Ops: uint64(t.c.Keys), Every: load.SampleEvery}
	sum, err := load.Run(ctx, []load.Worker{w}, budget, t.Scale, load.PinInTurn(t.loaderCPUs()))
	if err != nil {
		_ = done()
		if ctx.Err() == nil {
			err = t.Blame(err)
		}
		return err
	}
	if sum.Errors != 0 {
		_ = done()
		return fmt.Errorf("%d of %d were refused: %w", sum.Errors, t.c.Keys, sum.Why)
	}
	t.loaded[set] = true
	return done()
}

// Blame implements bench.Target.
func (t *trial) Blame(err error) error { return t.server.blame(err) }

// Workers implements bench.Target: it makes those that Drive has work, connected with the server.
func (t *trial) Workers(ctx context.Context) (_ []load.Worker, err error) {
	if t.c.Processes != 0 {
		t.crew, err = t.muster(ctx)
	} else {
		t.workers, err = t.server.workers(ctx)
	}
	return nil, err
}

// Drive implements bench.Driver.
func (t *trial) Drive(ctx context.Context, b load.Budget) (sum load.Tally, err error) {
	if b.Ops == 0 && b.Time == 0 {
		b.Ops = toTheEnd // of the trace
	}
	if t.crew != nil {
		sum, t.used, err = t.crew.work(ctx, b)
		return sum, err
	}
	sum, err = t.run(ctx, b)
	t.used = effort{ops: sum.Ops}
	return sum, err
}

// run lets all workers of this process work until their budget is used up.
func (t *trial) run(ctx context.Context, b load.Budget) (load.Tally, error) {
	return load.Run(ctx, t.workers, b, t.Scale, t.pin())
}

// pin pins them; nil: they are goroutines.
func (t *trial) pin() func(int) error {
	if t.c.Goroutines != 0 {
		return nil
	}
	return load.PinInTurn(t.place.Client)
}

// Counters implements bench.Target.
func (t *trial) Counters(ctx context.Context) (k bench.Counters, err error) {
	if k, err = t.server.look(ctx); err != nil || t.crew == nil {
		return k, err
	}
	k.Client, err = t.crew.cpu()
	return k, err
}

// Row implements bench.Target.
func (t *trial) Row(now *bench.Trial) (Row, error) {
	if now.Tally.Ops == 0 {
		return Row{}, fmt.Errorf("%w: the trace has no operations, or none was left by the warm-up", bench.ErrUsage)
	}
	row := rowOf(t.c, &now.Tally)
	row.index, row.Seed, row.Generator = t.index, t.cfg.Seed, t.alone
	row.Verbs = now.After.Verbs.Minus(now.Before.Verbs).Plus(t.used.verbs).Per(t.used.ops)
	t.server.describe(&row) // it knows the window
	now.InFlight, now.Alone = row.inFlight(), t.alone
	row.Measure = now.Measure()
	for _, why := range doubts(&row, t.c, &t.place) {
		now.Doubt(&row.Measure, why)
	}
	return row, nil
}

// Close implements bench.Target. It ends the reading of traces, too.
func (t *trial) Close() error {
	var errs []error
	if t.crew != nil {
		errs = append(errs, t.crew.close())
	}
	for _, w := range t.workers {
		if d, ok := w.(*driver); ok {
			errs = append(errs, d.close())
		}
	}
	return errors.Join(append(errs, t.server.close())...)
}
