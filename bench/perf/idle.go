package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// idleWarm is how many calls are made before the server is left alone.
const idleWarm = 100

// idle leaves a connected server alone for the duration of each trial, looks
// from outside how much CPU it used meanwhile, and makes one call.
func (s *session) idle(ctx context.Context) error {
	if _, err := s.peer.ask(command{Do: doStart}); err != nil {
		return err
	}
	for trial := 1; trial <= s.cfg.Trials; trial++ {
		s.tell(trial)
		row, err := s.idleTrial(ctx, trial)
		if err != nil {
			return err
		}
		if err := s.emit(row); err != nil {
			return err
		}
	}
	_, err := s.peer.ask(command{Do: doStop})
	return err
}

func (s *session) idleTrial(ctx context.Context, trial int) (Row, error) {
	if _, err := s.drive(ctx, budget{Ops: idleWarm, Every: 1}); err != nil {
		return Row{}, err
	}
	used, err := cpuTime(s.peer.pid)
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
	after, err := cpuTime(s.peer.pid)
	if err != nil {
		return Row{}, err
	}
	r, err := s.drive(ctx, budget{Ops: 1, Every: 1})
	if err != nil {
		return Row{}, fmt.Errorf("the first call after %v of silence: %w", s.cfg.Duration, err)
	}
	r.seconds = float64(elapsed) / 1e9
	row := rowOf(s.c, r, trial)
	row.TimedEvery, row.ClockNanos = 1, round(s.scale.Overhead(), 2)
	pct := round(100*float64(after-used)/float64(elapsed), 3)
	row.ServerCPU = &pct
	return row, nil
}

// clockTick is the unit of /proc/PID/stat, which Linux fixes at 1/100 s for
// programs.
const clockTick = 10 * time.Millisecond

// cpuTime returns what a process has used of all CPUs, as the kernel counts it.
func cpuTime(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of the server: %w", err)
	}
	return parseStat(string(b))
}

// parseStat adds the user and system time of a line of /proc/PID/stat. The
// second field is a name in parentheses that may contain anything.
func parseStat(stat string) (time.Duration, error) {
	_, rest, ok := cutLast(stat, ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0, fmt.Errorf("CPU time of the server: %q is not a line of /proc/PID/stat", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("CPU time of the server: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}

// cutLast is strings.Cut at the last occurrence of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
