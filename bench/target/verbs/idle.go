package verbs

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// idleWarm is how many calls are made before the server is left alone.
const idleWarm = 100

// idle is a case whose connected server is left alone for the duration of a trial: what it
// used meanwhile is looked at from outside, and then one call is made.
type idle struct {
	*verbs
	used, elapsed time.Duration // CPU of the server in the last trial, and how long that was
}

// Drive implements bench.Driver.
func (s *idle) Drive(ctx context.Context, b load.Budget) (t load.Tally, err error) {
	if err := s.startPassive(ctx); err != nil {
		return t, err
	}
	if _, err := s.issue(ctx, load.Budget{Ops: idleWarm}); err != nil {
		return t, err
	}
	before, err := s.peer.CPU()
	if err != nil {
		return t, err
	}
	start := cycles.Now()
	select {
	case <-time.After(b.Time):
	case <-ctx.Done():
		return t, ctx.Err()
	}
	s.elapsed = time.Duration(s.Scale.Nanos(cycles.Now() - start))
	after, err := s.peer.CPU()
	if err != nil {
		return t, err
	}
	s.used = after - before
	if t, err = s.issue(ctx, load.Budget{Ops: 1}); err != nil {
		return t, fmt.Errorf("the first call after %v of silence: %w", b.Time, err)
	}
	_, err = s.stopPassive()
	return t, err
}

// Row implements bench.Target. Nothing is distrusted: one call is no rate.
func (s *idle) Row(t *bench.Trial) (Row, error) {
	row := rowOf(s.c, bench.MeasureOf(&t.Tally, t.Number, 1, s.Scale), 0)
	row.Seconds = load.Round(s.elapsed.Seconds(), 6)
	row.OpsPerSec = load.Round(float64(row.Ops)/s.elapsed.Seconds(), 1)
	row.ServerCPU = load.Percent(s.used, s.elapsed, 3)
	return row, nil
}
