package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
)

// Runner is a run: it measures cases C and makes rows R.
type Runner[C, R any] struct {
	Env    Env[R]
	Times  Times
	Report *Report[R]
	// CPUs are those of this process that may be shared among the sides, Scale its clock.
	CPUs  []int
	Scale cycles.Scale
	// Missing, when not nil, is asked about a case that could not be started: true leaves it
	// out, with all its trials.
	Missing func(c *C, err error) bool

	now   Progress
	watch *Watch
}

// Times say how long and how often a case is measured.
type Times struct {
	// Duration is how long a trial lasts; Ops, when not 0, ends it after this number of operations
	// of each worker or connection instead.
	Duration time.Duration
	Ops      int
	// Warmup runs before the first trial with a server and is not reported; with Ops there
	// is none. WarmupOps, when not 0, is a warm-up of this number of operations instead.
	Warmup    time.Duration
	WarmupOps int
	// TimedAll is how long an operation takes where all are timed (E3).
	TimedAll time.Duration
	Trials   int
}

// NewRunner makes the run of a target's Run.
func NewRunner[C, R any](env Env[R], times Times, report *Report[R]) *Runner[C, R] {
	return &Runner[C, R]{Env: env, Times: times, Report: report, CPUs: host.CPUs(), Scale: cycles.Calibrate()}
}

// Case is how the engine sees the pointer to a case of type C.
type Case[C any] interface {
	*C
	// Title names the case for people.
	Title() string
}

// Group is cases whose trials are interleaved: each is measured once in every round.
type Group[C any] struct {
	Cases []C
	// Fresh starts a server for every trial (E1).
	Fresh bool
	// Seed, when not 0, shuffles the cases of each round.
	Seed uint64
}

// alone makes a group of each case.
func alone[C any](cases []C) (groups []Group[C]) {
	for i := range cases {
		groups = append(groups, Group[C]{Cases: cases[i : i+1]})
	}
	return groups
}

// together reports whether several servers are up at the same time.
func (g *Group[C]) together() bool { return !g.Fresh && len(g.Cases) > 1 }

// Order is that of the cases in a round.
func (g *Group[C]) Order(trial int) []int {
	if g.Seed != 0 {
		return rand.New(rand.NewPCG(g.Seed, uint64(trial))).Perm(len(g.Cases))
	}
	out := make([]int, len(g.Cases))
	for i := range out {
		out[i] = i
	}
	return out
}

// RunEach measures one case after the other, of those that plan makes within the limits of a
// fabric, and then has notes taken.
func RunEach[C, R any, P Case[C]](ctx context.Context, r *Runner[C, R], fabricName string,
	plan func(fabric.Limits) ([]C, error), target func(P) Target[R], notes func([]C),
) error {
	limits, err := FabricLimits(r.Env.Providers, fabricName)
	if err != nil {
		return err
	}
	cases, err := plan(limits)
	if err != nil {
		return err
	}
	if err := Run(ctx, r, alone(cases), target); err != nil {
		return err
	}
	notes(cases)
	return nil
}

// Run measures group after group until a case fails (E6). target makes the target of a case.
// What a case does to GOMAXPROCS ends with the run.
func Run[C, R any, P Case[C]](ctx context.Context, r *Runner[C, R], groups []Group[C], target func(P) Target[R]) error {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	r.now = Progress{Trials: r.Times.Trials}
	for i := range groups {
		r.now.Cases += len(groups[i].Cases) * r.Times.Trials
	}
	r.watch = NewWatch(&r.Report.Remarks, r.Scale, r.CPUs)
	defer r.watch.End() // what was measured until a failure is shown, with what makes it doubtful
	for i := range groups {
		g := &groups[i]
		var all []*session[R]
		for k := range g.Cases {
			c := P(&g.Cases[k])
			all = append(all, &session[R]{title: c.Title(), together: g.together(), make: func() Target[R] { return target(c) }})
		}
		if err := r.group(ctx, g, all); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("%s: %w", r.now.Name, ctx.Err())
			}
			return err
		}
	}
	return nil
}

// group measures the rounds of a group.
func (r *Runner[C, R]) group(ctx context.Context, g *Group[C], all []*session[R]) (err error) {
	defer func() {
		for _, s := range all {
			if closed := s.close(); err == nil {
				err = closed // after a failure it only repeats what that led to
			}
		}
	}()
	if !g.Fresh {
		for i, s := range all {
			if err := r.start(ctx, s, &g.Cases[i], r.now.Case+i+1); err != nil {
				return err
			}
		}
	}
	for trial := 1; trial <= r.Times.Trials; trial++ {
		for _, i := range g.Order(trial) {
			s := all[i]
			r.now.Case++
			if g.Fresh && !s.missing {
				if err := r.start(ctx, s, &g.Cases[i], r.now.Case); err != nil {
					return err
				}
			}
			if s.missing {
				continue
			}
			if err := r.trial(ctx, s, trial); err != nil {
				return s.failed(err)
			}
			if g.together() {
				if err := s.relieve(); err != nil {
					return s.failed(err)
				}
			}
			if g.Fresh {
				if err := s.close(); err != nil {
					return s.failed(err)
				}
			}
		}
	}
	return nil
}

// session is a case between its trials.
type session[R any] struct {
	title   string
	make    func() Target[R]
	target  Target[R] // nil: not started
	how     Conditions
	workers []load.Worker
	press   *host.Pressure // of the placement; nil: it has not begun
	every   int            // one operation in every is timed; 0: it did not warm up
	missing bool           // it cannot be measured, and may be left out
	// together says that the servers of other cases are up, too: the placement is that of a
	// trial.
	together bool
}

func (s *session[R]) failed(err error) error { return fmt.Errorf("%s: %w", s.title, err) }

func (s *session[R]) close() error {
	if s.target == nil {
		return nil
	}
	err := errors.Join(s.target.Close(), s.relieve())
	s.target, s.workers, s.every = nil, nil, 0
	return err
}

// relieve ends what the placement asks for.
func (s *session[R]) relieve() error {
	if s.press == nil {
		return nil
	}
	p := s.press
	s.press = nil
	return p.Close()
}

// tell says where the run is; trial 0 is starting and warming up.
func (r *Runner[C, R]) tell(s *session[R], step, trial int) {
	p := r.now
	p.Case, p.Trial, p.Name = step, trial, s.title
	r.now.Name = s.title
	if r.Env.Progress != nil {
		r.Env.Progress(p)
	}
}

// start starts the target of a case, unless it may be left out, and warms up.
func (r *Runner[C, R]) start(ctx context.Context, s *session[R], c *C, step int) (err error) {
	s.target = s.make()
	s.how = s.target.Conditions()
	r.Report.Warn(s.how.Place.Warning)
	if s.how.Procs != 0 {
		runtime.GOMAXPROCS(s.how.Procs)
	}
	r.tell(s, step, 0)
	if err := s.target.Start(ctx); err != nil {
		if ctx.Err() == nil && r.Missing != nil && r.Missing(c, err) {
			s.missing = true
			_ = s.close() // it only repeats why
			return nil
		}
		return s.failed(err)
	}
	s.how = s.target.Conditions()
	if !s.together {
		if err := r.press(ctx, s); err != nil {
			return s.failed(err)
		}
	}
	if s.workers, err = s.target.Workers(ctx); err != nil {
		return s.failed(err)
	}
	return nil
}

// press begins what the placement of a case asks for, unless it has begun.
func (r *Runner[C, R]) press(ctx context.Context, s *session[R]) error {
	if s.press != nil {
		return nil
	}
	p, err := host.Press(ctx, &s.how.Place, s.how.Server, r.Env.Helper)
	if err == nil {
		s.press = p
	}
	return err
}

// warmUp is what is done before the first trial with a server; false: nothing.
func (t *Times) warmUp() (load.Budget, bool) {
	b := load.Budget{Ops: uint64(t.WarmupOps), Time: t.Warmup, Every: load.SampleEvery}
	return b, t.WarmupOps != 0 || t.Ops == 0 && t.Warmup > 0
}

// warm warms up before the first trial with a server, and decides what is timed (E3).
func (r *Runner[C, R]) warm(ctx context.Context, s *session[R]) error {
	if s.every != 0 {
		return nil
	}
	s.every = 1
	b, ok := r.Times.warmUp()
	if !ok {
		return nil
	}
	r.tell(s, r.now.Case, 0)
	t, err := r.drive(ctx, s, b)
	if err == nil {
		s.every = t.TimeEvery(s.how.Callers, r.Times.TimedAll, r.Scale)
	}
	return err
}

// trial measures a case once, between two looks at what both sides have used (E4), and
// hands out the row.
func (r *Runner[C, R]) trial(ctx context.Context, s *session[R], number int) error {
	runtime.GC()
	if err := r.press(ctx, s); err != nil {
		return err
	}
	if s.how.NoGC {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}
	if err := r.warm(ctx, s); err != nil {
		return err
	}
	r.tell(s, r.now.Case, number)
	t := &Trial{Conditions: s.how, Case: s, Title: s.title, Number: number, Every: s.every, scale: r.Scale, watch: r.watch}
	var err error
	if t.Before, err = r.look(ctx, s); err != nil {
		return err
	}
	b := load.Budget{Ops: uint64(r.Times.Ops), Time: r.Times.Duration, Every: s.every}
	if t.Tally, err = r.drive(ctx, s, b); err != nil {
		return err
	}
	if t.After, err = r.look(ctx, s); err != nil {
		return err
	}
	row, err := s.target.Row(t)
	if err != nil {
		return err
	}
	r.Report.Rows = append(r.Report.Rows, row)
	if r.Env.Row != nil {
		return r.Env.Row(row)
	}
	return nil
}

// look reads what both sides have used until now.
func (r *Runner[C, R]) look(ctx context.Context, s *session[R]) (Counters, error) {
	k, err := s.target.Counters(ctx)
	if err != nil {
		return k, err
	}
	used, err := s.press.CPU()
	if err != nil {
		return k, err
	}
	k.Neighbours += used
	return k, k.look(s.how.Place)
}

// drive has the operations of a budget done.
func (r *Runner[C, R]) drive(ctx context.Context, s *session[R], b load.Budget) (t load.Tally, err error) {
	if d, ok := s.target.(Driver); ok {
		t, err = d.Drive(ctx, b)
	} else {
		t, err = load.Run(ctx, s.workers, b, r.Scale, s.how.pin())
	}
	if err != nil && ctx.Err() == nil {
		err = s.target.Blame(err)
	}
	return t, err
}

// pin pins workers; nil: they are goroutines.
func (c *Conditions) pin() func(int) error {
	if !c.Pinned {
		return nil
	}
	return load.PinInTurn(c.Place.Client)
}
