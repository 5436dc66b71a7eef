package call

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// trials warms up, measures every trial and reports a row for each.
func (s *session) trials(ctx context.Context) error {
	every := 1
	if s.cfg.Warmup > 0 && s.cfg.Ops == 0 {
		warm, err := s.run(ctx, load.Budget{Time: s.cfg.Warmup, Every: 1})
		if err != nil {
			return err
		}
		every = warm.TimeEvery(s.c.callers(), time.Microsecond, s.scale)
	}
	for trial := 1; trial <= s.cfg.Trials; trial++ {
		s.Tell(trial)
		row, err := s.trial(ctx, trial, load.Budget{Ops: uint64(s.cfg.Ops), Time: s.cfg.Duration, Every: every})
		if err != nil {
			return err
		}
		s.report.Rows = append(s.report.Rows, row)
		if s.env.Row != nil {
			if err := s.env.Row(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// trial runs once, between two looks at what both sides have used.
func (s *session) trial(ctx context.Context, trial int, b load.Budget) (Row, error) {
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
	row := rowOf(s.c, &t, trial, b.Every, s.scale)
	s.complete(&row, &t, before, after)
	return row, nil
}

// glance is what both sides have used until a moment.
type glance struct {
	server used
	time   time.Time
	cpu    time.Duration
	verbs  load.Verbs
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
	counters := s.dev.Counters()
	g := glance{server: *a.Used, time: time.Now(), verbs: load.VerbsOf(&counters)}
	for _, c := range s.conns {
		st := c.Stats()
		g.stats.Misses += st.Misses
		g.stats.Switches += st.Switches
	}
	g.cpu, err = host.ProcessTime()
	return g, err
}

// complete fills in what both sides have used, and what the connections have chosen.
func (s *session) complete(row *Row, t *load.Tally, before, after glance) {
	spent := after.verbs.Minus(before.verbs).Plus(after.server.Verbs.Minus(before.server.Verbs))
	row.Verbs = spent.Per(t.Ops)
	if t.Ops != 0 {
		row.Misses = load.Round(float64(after.stats.Misses-before.stats.Misses)/float64(t.Ops), 4)
	}
	row.Switches = after.stats.Switches - before.stats.Switches
	row.Mode = s.mode()
	row.Batch = s.batch()
	row.Retries, row.FetchSize = s.conns[0].Choice().R, s.conns[0].Choice().F
	row.SleepAfterUs = float64(s.c.SleepAfter) / float64(time.Microsecond)
	s.charge(row, t, before, after)
}

// charge fills in who has used how much CPU (C5).
func (s *session) charge(row *Row, t *load.Tally, before, after glance) {
	elapsed := after.time.Sub(before.time)
	process := after.cpu - before.cpu
	drivers := host.PerThread && s.c.Goroutines == 0
	if drivers {
		row.ClientCPU = load.Percent(t.CPU, t.Time(s.scale), 1)
	} else if s.c.Fabric != provider.Loop {
		row.ClientCPU = load.Percent(process, elapsed, 1)
	}
	switch {
	case s.c.Fabric != provider.Loop:
		row.ServerCPU = load.Percent(after.server.CPU-before.server.CPU, after.server.Time-before.server.Time, 1)
	case drivers:
		row.ServerCPU = load.Percent(process-t.CPU, elapsed, 1)
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

// run lets all workers work until their budget is used up.
func (s *session) run(ctx context.Context, b load.Budget) (load.Tally, error) {
	var pin func(int) error
	if s.c.Goroutines == 0 {
		pin = load.PinInTurn(s.place.Client)
	}
	t, err := load.Run(ctx, s.workers, b, s.scale, pin)
	if err != nil && ctx.Err() == nil {
		err = s.peer.Blame(err)
	}
	return t, err
}
