package perf

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/fabric"
)

// trials warms up, measures every trial and reports a row for each.
func (s *session) trials(ctx context.Context) error {
	every := 1
	if s.cfg.Warmup > 0 && s.cfg.Ops == 0 {
		s.Tell(0)
		warm, err := s.trial(ctx, budget{Time: s.cfg.Warmup, Every: 1})
		if err != nil {
			return err
		}
		every = timeEvery(warm)
	}
	var rows []Row
	for trial := 1; trial <= s.cfg.Trials; trial++ {
		s.Tell(trial)
		before, err := s.look()
		if err != nil {
			return err
		}
		r, err := s.trial(ctx, budget{Ops: uint64(s.cfg.Ops), Time: s.cfg.Duration, Every: every})
		if err != nil {
			return err
		}
		after, err := s.look()
		if err != nil {
			return err
		}
		row := rowOf(s.c, r, trial)
		row.TimedEvery, row.ClockNanos = every, load.Round(s.scale.Overhead(), 2)
		s.watch.Trial(&row.Measure, &bench.Trial{
			Conditions: bench.Conditions{Place: s.place.Placement, InFlight: s.c.lanes() * s.c.Window}, Case: s.c, Title: s.c.Title(), Before: before, After: after,
		})
		rows = append(rows, row)
	}
	if err := s.verify(); err != nil {
		return err
	}
	for i := range rows {
		if err := s.emit(rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// look is what both sides have used on this machine.
func (s *session) look() (k bench.Counters, err error) {
	k, err = bench.CountersNow(s.place.Placement)
	k.Server = new(time.Duration)
	if err == nil && s.peer.Pid() != 0 {
		*k.Server, err = s.peer.CPU()
	}
	return k, err
}

// trial runs both sides once.
func (s *session) trial(ctx context.Context, b budget) (result, error) {
	if err := s.startPassive(); err != nil {
		return result{}, err
	}
	r, err := s.drive(ctx, b)
	if err != nil {
		return r, err
	}
	received, err := s.stopPassive()
	if err != nil {
		return r, err
	}
	if s.c.Op == fabric.OpSend && (s.c.Kind == kindInbound || s.c.Kind == kindOutbound) {
		if s.c.Transport == fabric.RC && received != r.ops {
			return r, fmt.Errorf("%d messages were sent and %d received", r.ops, received)
		}
		r.lost = r.ops - min(r.ops, received)
	}
	return r, nil
}

// timeEvery says which share of the operations is timed: all when reading the
// clock is cheap against one, few when it is not.
func timeEvery(r result) int {
	if r.ops == 0 || r.seconds/float64(r.ops) > 1e-6 {
		return 1
	}
	return 16
}

// drive runs the side that issues the operations.
func (s *session) drive(ctx context.Context, b budget) (result, error) {
	var w *wireTally
	if s.c.Kind == kindOutbound {
		a, err := s.peer.Ask(command{Do: doRun, Budget: b})
		if err != nil {
			return result{}, err
		}
		w = a.Tally
	} else {
		t, err := s.side.run(ctx, b)
		if err != nil {
			return result{}, s.peer.Blame(err)
		}
		if w, err = t.wire(s.scale); err != nil {
			return result{}, err
		}
	}
	s.posted += w.Ops
	return w.result()
}

// startPassive starts the side that only reacts.
func (s *session) startPassive() error {
	if s.c.Kind == kindOutbound {
		s.side.start(budget{Ops: unlimited})
		return nil
	}
	_, err := s.peer.Ask(command{Do: doStart})
	return err
}

// stopPassive stops it and returns how much it received.
func (s *session) stopPassive() (uint64, error) {
	if s.c.Kind == kindOutbound {
		t, err := s.side.stop()
		return t.Ops, err
	}
	a, err := s.peer.Ask(command{Do: doStop})
	if err != nil {
		return 0, err
	}
	return a.Tally.Ops, nil
}

// verify checks the memory at both ends.
func (s *session) verify() error {
	if s.c.Kind == kindLimit || s.c.Kind == kindEcho {
		return nil
	}
	if err := s.side.verify(s.posted); err != nil {
		return err
	}
	_, err := s.peer.Ask(command{Do: doVerify, Ops: s.posted})
	return err
}

// emit completes a row and hands it out.
func (s *session) emit(row Row) error {
	if limit := s.limitFor(&row); limit > 0 {
		ratio := load.Round(row.OpsPerSec/limit, 4)
		row.LimitRatio = &ratio
	}
	s.report.Rows = append(s.report.Rows, row)
	if s.env.Row != nil {
		return s.env.Row(row)
	}
	return nil
}

// limitFor returns the rate of the bare machine that an echo is compared with:
// the median trial at the same window and size. 0: not measured.
func (s *session) limitFor(row *Row) float64 {
	if s.c.Kind != kindEcho || row.Threads != 1 || row.Accesses > 0 {
		return 0
	}
	for _, m := range medians(s.report.Rows) {
		if m.Row.Test == limitTest && m.Row.Window == row.Window && m.Row.Size == row.Size {
			return m.Row.OpsPerSec
		}
	}
	return 0
}
