package perf

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/internal/cycles"
)

// idleWarm is how many calls are made before the server is left alone.
const idleWarm = 100

// idle leaves a connected server alone for the duration of each trial, looks
// from outside how much CPU it used meanwhile, and makes one call.
func (s *session) idle(ctx context.Context) error {
	if _, err := s.peer.Ask(command{Do: doStart}); err != nil {
		return err
	}
	for trial := 1; trial <= s.cfg.Trials; trial++ {
		s.Tell(trial)
		row, err := s.idleTrial(ctx, trial)
		if err != nil {
			return err
		}
		if err := s.emit(row); err != nil {
			return err
		}
	}
	_, err := s.peer.Ask(command{Do: doStop})
	return err
}

func (s *session) idleTrial(ctx context.Context, trial int) (Row, error) {
	if _, err := s.drive(ctx, budget{Ops: idleWarm, Every: 1}); err != nil {
		return Row{}, err
	}
	used, err := s.peer.CPU()
	if err != nil {
		return Row{}, err
	}
	start := cycles.Now()
	select {
	case <-time.After(s.cfg.Duration):
	case <-ctx.Done():
		return Row{}, ctx.Err()
	}
	elapsed := s.scale.Nanos(cycles.Now() - start)
	after, err := s.peer.CPU()
	if err != nil {
		return Row{}, err
	}
	r, err := s.drive(ctx, budget{Ops: 1, Every: 1})
	if err != nil {
		return Row{}, fmt.Errorf("the first call after %v of silence: %w", s.cfg.Duration, err)
	}
	r.seconds = float64(elapsed) / 1e9
	row := rowOf(s.c, r, trial)
	row.TimedEvery, row.ClockNanos = 1, load.Round(s.scale.Overhead(), 2)
	row.ServerCPU = load.Percent(after-used, time.Duration(elapsed), 3)
	return row, nil
}
