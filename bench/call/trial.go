package call

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/bench/internal/cputime"
	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc/rfp"
)

// trials warms up, measures every trial and reports a row for each.
func (s *session) trials(ctx context.Context) error {
	every := 1
	if s.cfg.Warmup > 0 && s.cfg.Ops == 0 {
		warm, err := s.run(ctx, budget{Time: s.cfg.Warmup, Every: 1})
		if err != nil {
			return err
		}
		every = timeEvery(&warm, s.c.callers(), s.scale)
	}
	for trial := 1; trial <= s.cfg.Trials; trial++ {
		s.Tell(trial)
		row, err := s.trial(ctx, budget{Ops: uint64(s.cfg.Ops), Time: s.cfg.Duration, Every: every})
		if err != nil {
			return err
		}
		row.Trial, row.TimedEvery, row.ClockNanos = trial, every, report.Round(s.scale.Overhead(), 2)
		s.report.Rows = append(s.report.Rows, row)
		if s.env.Row != nil {
			if err := s.env.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeEvery says which share of the calls is timed: all when reading the clock is
// cheap against one, few when it is not.
func timeEvery(t *tally, callers int, scale cycles.Scale) int {
	if t.ops == 0 || scale.Nanos(t.end-t.start)*int64(callers) > 1000*int64(t.ops) {
		return 1
	}
	return 16
}

// trial runs once, between two looks at what both sides have used.
func (s *session) trial(ctx context.Context, b budget) (Row, error) {
	before, err := s.look()
	if err != nil {
		return Row{}, err
	}
	t, err := s.run(ctx, b)
	if err != nil {
		return Row{}, err
	}
	after, err := s.look()
	if err != nil {
		return Row{}, err
	}
	if after.server.Lost != before.server.Lost {
		return Row{}, fmt.Errorf("the server has lost or cut off %d clients%s", after.server.Lost-before.server.Lost, s.peer.Said())
	}
	return s.row(&t, before, after), nil
}

// glance is what both sides have used until a moment.
type glance struct {
	server used
	time   time.Time
	cpu    time.Duration
	verbs  verbs
	stats  rfp.ConnStats
}

func (s *session) look() (glance, error) {
	a, err := s.peer.Ask(command{Do: doCount})
	if err != nil {
		return glance{}, err
	}
	if a.Used == nil {
		return glance{}, fmt.Errorf("the server does not answer %q: are client and server of the same version?", doCount)
	}
	g := glance{server: *a.Used, time: time.Now(), verbs: verbsOf(s.dev.Counters())}
	for _, c := range s.conns {
		st := c.Stats()
		g.stats.Misses += st.Misses
		g.stats.Switches += st.Switches
	}
	g.cpu, err = cputime.Process()
	return g, err
}

// row makes the row of a trial.
func (s *session) row(t *tally, before, after glance) Row {
	row := rowOf(s.c, t, s.scale)
	spent := after.verbs.minus(before.verbs).plus(after.server.Verbs.minus(before.server.Verbs))
	row.Verbs = spent.per(t.ops)
	if t.ops != 0 {
		row.Misses = report.Round(float64(after.stats.Misses-before.stats.Misses)/float64(t.ops), 4)
	}
	row.Switches = after.stats.Switches - before.stats.Switches
	row.Mode = s.mode()
	row.Batch = s.batch()
	row.Retries, row.FetchSize = s.conns[0].Choice().R, s.conns[0].Choice().F
	s.charge(&row, t, before, after)
	return row
}

// charge fills in who has used how much CPU (C5).
func (s *session) charge(row *Row, t *tally, before, after glance) {
	elapsed := after.time.Sub(before.time)
	process := after.cpu - before.cpu
	drivers := cputime.PerThread && s.c.Goroutines == 0
	if drivers {
		row.ClientCPU = report.Percent(t.cpu, time.Duration(s.scale.Nanos(t.end-t.start)), 1)
	} else if s.c.Fabric != provider.Loop {
		row.ClientCPU = report.Percent(process, elapsed, 1)
	}
	switch {
	case s.c.Fabric != provider.Loop:
		row.ServerCPU = report.Percent(after.server.CPU-before.server.CPU, after.server.Time-before.server.Time, 1)
	case drivers:
		row.ServerCPU = report.Percent(process-t.cpu, elapsed, 1)
	}
}

// mode is that of all connections.
func (s *session) mode() string {
	m := s.conns[0].Mode(class)
	for _, c := range s.conns[1:] {
		if c.Mode(class) != m {
			return "mixed"
		}
	}
	return m.String()
}

// batch is the size in use, on average where connections choose it themselves.
func (s *session) batch() int {
	sum := 0
	for _, c := range s.conns {
		sum += c.Batch()
	}
	return (sum + len(s.conns)/2) / len(s.conns)
}

// run lets all workers work until their budget is used up, one fails, or ctx is
// done.
func (s *session) run(ctx context.Context, b budget) (tally, error) {
	var stop atomic.Bool
	var pinned, done sync.WaitGroup
	ready := make(chan struct{})
	errs, meters := make([]error, len(s.workers)), make([]*meter, len(s.workers))
	pinned.Add(len(s.workers))
	for i, w := range s.workers {
		done.Go(func() {
			errs[i] = s.pin(i)
			pinned.Done()
			<-ready
			if errs[i] == nil {
				meters[i] = newMeter(b, s.scale, &stop, i, len(s.workers))
				errs[i] = w.run(meters[i])
			}
			if errs[i] != nil {
				stop.Store(true)
			}
		})
	}
	pinned.Wait()
	close(ready)
	unhook := context.AfterFunc(ctx, func() { stop.Store(true) })
	done.Wait()
	unhook()
	if err := ctx.Err(); err != nil {
		return tally{}, err
	}
	if err := firstError(errs); err != nil {
		return tally{}, s.peer.Blame(err)
	}
	var sum tally
	for _, m := range meters {
		sum.add(m)
	}
	return sum, nil
}

// firstError is one that is not the consequence of another.
func firstError(errs []error) error {
	var stopped error
	for _, err := range errs {
		switch {
		case errors.Is(err, errStopped):
			stopped = err
		case err != nil:
			return err
		}
	}
	return stopped
}

// pin puts a driver on its CPU; its thread ends with it, mask and all.
func (s *session) pin(i int) error {
	if s.c.Goroutines != 0 {
		return nil
	}
	runtime.LockOSThread()
	if len(s.place.Client) == 0 {
		return nil
	}
	_, err := affinity.Pin(s.place.Client[i%len(s.place.Client)])
	return err
}
