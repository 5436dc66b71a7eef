package cache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/fabric/provider"
)

// Comparison says which targets are measured beside each other, under which loads.
type Comparison struct {
	// Base is the load and the times. Its Paths and Fabrics are the targets, default all
	// paths, and shm, tcp and rdma where there is a device. With Windows or Batches there
	// is one load, without them there are two: one operation at a time, and many.
	Base Config
	// Baseline is the target that others are held against: a path, with its fabric where
	// it has several (rfp/shm); default memcached, or text where that is missing.
	Baseline string
}

// The loads of a comparison that is not told another: window and batch.
const (
	manyWindow = 4
	manyBatch  = 4 // as many in all as the window of a path without batches
)

// Times of a comparison: those of one that takes some minutes, and of one that is done in
// half a minute on two CPUs, for a first look. Three trials are the fewest whose interval
// says anything.
const (
	CompareKeys     = 100_000
	CompareDuration = time.Second
	CompareTrials   = 5

	QuickKeys     = 10_000
	QuickDuration = 100 * time.Millisecond
	QuickWarmup   = 20 * time.Millisecond
	QuickTrials   = 3
	// QuickMemory is that of a core: a server that has a GiB takes longer to start than a
	// trial does.
	QuickMemory = 64 << 20
)

// Compared is the outcome of a comparison.
type Compared struct {
	*Report
	baseline string
}

// Compare measures all targets in rounds (RunRounds).
func Compare(ctx context.Context, c Comparison, env Env) (*Compared, error) {
	cfgs, absent, err := c.plan(env.Providers)
	if err != nil {
		return &Compared{Report: &Report{}}, err
	}
	r, err := RunRounds(ctx, cfgs, env)
	for _, s := range absent {
		r.Note("%s", s)
	}
	return &Compared{Report: r, baseline: c.Baseline}, err
}

// plan makes the configurations, and says which fabrics are absent.
func (c *Comparison) plan(providers bench.Opener) (cfgs []Config, absent []string, err error) {
	base := c.Base
	if base.Server != "" {
		return nil, nil, bench.UsageError(fmt.Errorf("compare starts its servers: measure %s with bench", base.Server))
	}
	if len(base.Paths) == 0 {
		base.Paths = slices.DeleteFunc(Paths(), func(p string) bool { return p == PathNull })
	}
	if len(base.Fabrics) == 0 {
		base.Fabrics = []string{provider.Shm, provider.TCP}
		if _, err := bench.FabricLimits(providers, provider.RDMA); err == nil {
			base.Fabrics = append(base.Fabrics, provider.RDMA)
		} else {
			absent = append(absent, fmt.Sprintf("not measured: %s: %v", provider.RDMA, err))
		}
	}
	if err := c.checkBaseline(base.Paths); err != nil {
		return nil, nil, err
	}
	for _, l := range loads(&base) {
		for _, alone := range []bool{false, true} {
			if cfg, ok := l.of(base, alone); ok {
				cfgs = append(cfgs, cfg)
			}
		}
	}
	return cfgs, absent, nil
}

func (c *Comparison) checkBaseline(paths []string) error {
	path, _, _ := strings.Cut(c.Baseline, "/")
	if c.Baseline == "" || slices.Contains(paths, path) {
		return nil
	}
	return bench.UsageError(fmt.Errorf("--baseline %q is not measured: use one of %s, with a fabric as in rfp/shm", c.Baseline, strings.Join(paths, ", ")))
}

// pipelining is how many operations are in flight.
type pipelining struct{ window, batch int }

// loads are those of a comparison.
func loads(base *Config) (out []pipelining) {
	if len(base.Windows) == 0 && len(base.Batches) == 0 {
		if slices.ContainsFunc(base.Goroutines, func(n int) bool { return n != 0 }) {
			return []pipelining{{}}
		}
		return []pipelining{{1, 1}, {manyWindow, manyBatch}}
	}
	windows, batches := slices.Clone(base.Windows), slices.Clone(base.Batches)
	bench.OrDefault(&windows, 1)
	bench.OrDefault(&batches, 1)
	for _, w := range windows {
		for _, b := range batches {
			out = append(out, pipelining{w, b})
		}
	}
	return out
}

// of is the configuration of the paths that have batches, or of those that have none and
// get as large a window instead: all have as many operations in flight.
func (l pipelining) of(base Config, alone bool) (Config, bool) {
	base.Paths = slices.DeleteFunc(slices.Clone(base.Paths), func(p string) bool { return single(p) != alone })
	switch {
	case l == pipelining{}:
	case alone:
		base.Windows, base.Batches = []int{l.window * l.batch}, nil
	default:
		base.Windows, base.Batches = []int{l.window}, []int{l.batch}
	}
	return base, len(base.Paths) != 0
}
