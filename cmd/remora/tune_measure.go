package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/rpc/rfp/tune"
)

const (
	// readWindow is how many READs each thread keeps in flight.
	readWindow = 16
	// tuneTrials is how often a point is measured. The best counts: what else runs
	// on a machine only makes it slower.
	tuneTrials = 3
)

// readSizes and replySizes are the sizes of the curves. Replies are limited by
// their number long before their size.
func readSizes() []int {
	return []int{16, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192}
}

func replySizes() []int { return []int{64, 512, 2048, 8192} }

// readings measures the curves with tests of bench/target/verbs.
func (f *tuneFlags) readings(ctx context.Context, a *app) ([]tune.Reading, error) {
	argv, err := workerArgv(f.server, workerVerbs)
	if err != nil {
		return nil, err
	}
	bar := newProgress(a.err)
	defer bar.clear()
	m := measurement{
		flags: f, a: a, bar: bar,
		env:  verbs.Env{Providers: a.providers(), Server: argv},
		best: map[int]*tune.Reading{},
		// A test of replies has a second operation, which is measured with it.
		cases: 2*len(readSizes()) + 2*len(replySizes()),
	}
	read := verbs.Config{Tests: []string{"read"}, Sizes: readSizes(), Windows: []int{readWindow}, Threads: f.threads, Unsignaled: verbs.On}
	alone := verbs.Config{Tests: []string{"read"}, Sizes: readSizes(), Windows: []int{1}, Threads: 1}
	reply := verbs.Config{Tests: []string{"outbound"}, Sizes: replySizes(), Windows: []int{readWindow}, Threads: f.threads}
	for _, step := range []struct {
		cfg  verbs.Config
		take func(*tune.Reading, verbs.Row)
	}{
		{read, func(r *tune.Reading, row verbs.Row) { r.Reads = max(r.Reads, row.OpsPerSec) }},
		{alone, takeTime},
		{reply, func(r *tune.Reading, row verbs.Row) {
			if row.Test == "outbound-write" {
				r.Replies = max(r.Replies, row.OpsPerSec)
			}
		}},
	} {
		if err := m.run(ctx, step.cfg, step.take); err != nil {
			return nil, err
		}
	}
	rs := m.readings()
	if size := tune.Noisy(rs); size != 0 {
		m.warn([]string{fmt.Sprintf("READs of %d bytes were much slower than larger ones: this machine is busy; "+
			"measure again when it is not, or longer: --measure --duration %v", size, 5*f.duration)})
	}
	return rs, nil
}

// takeTime takes the time of a READ alone.
func takeTime(r *tune.Reading, row verbs.Row) {
	t := time.Duration(math.Round(row.P50 * 1e3))
	if t > 0 && (r.ReadTime == 0 || t < r.ReadTime) {
		r.ReadTime = t
	}
}

// measurement is a number of runs of bench verbs that make one curve.
type measurement struct {
	flags       *tuneFlags
	a           *app
	bar         *progress
	env         verbs.Env
	best        map[int]*tune.Reading // by size
	done, cases int
	warned      []string
}

func (m *measurement) run(ctx context.Context, cfg verbs.Config, take func(*tune.Reading, verbs.Row)) error {
	f := m.flags
	cfg.Fabric, cfg.Trials, cfg.Duration, cfg.Warmup = f.fabric, tuneTrials, f.duration, f.duration/2
	cfg.Listen, cfg.Remote = f.listen, f.server != ""
	last := 0
	m.env.Progress = func(p bench.Progress) {
		last = p.Cases
		p.Case, p.Cases = p.Case+m.done, m.cases
		m.bar.show(p)
	}
	report, err := verbs.Run(ctx, cfg, m.env)
	m.done += last
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, bench.ErrUsage):
		return usageError{err}
	case err != nil:
		return err
	}
	for _, row := range report.Rows {
		r := m.best[row.Size]
		if r == nil {
			r = &tune.Reading{Size: row.Size}
			m.best[row.Size] = r
		}
		take(r, row)
	}
	m.warn(report.Warnings)
	return nil
}

// warn prints each warning once.
func (m *measurement) warn(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(m.warned, w) {
			m.warned = append(m.warned, w)
			m.bar.clear()
			_, _ = fmt.Fprintf(m.a.err, "remora: warning: %s\n", w)
		}
	}
}

func (m *measurement) readings() []tune.Reading {
	var out []tune.Reading
	for _, r := range m.best {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b tune.Reading) int { return a.Size - b.Size })
	return out
}

// thisMachine names the machine in a profile.
func thisMachine() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unnamed"
	}
	return fmt.Sprintf("%s, %s/%s, %d CPUs", name, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// howMeasured says how, in a profile.
func howMeasured(f *tuneFlags) string {
	return fmt.Sprintf("in-bound READs of %d threads, %d in flight on each, divided by R; "+
		"read_ns: one at a time, median; replies: out-bound WRITEs of one server thread; best of %d trials of %v",
		f.threads, readWindow, tuneTrials, f.duration)
}
