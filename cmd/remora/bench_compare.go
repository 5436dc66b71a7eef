package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/target/cache"
)

// compareFlags are those of bench cache, and some more.
type compareFlags struct {
	benchFlags
	quick    bool
	baseline string
}

func newBenchCompareCmd(a *app) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare all paths on all fabrics, memcached and Redis in one run",
		Long: `Compare all paths of Remora on all fabrics with each other, and with memcached and
Redis if they are installed, in one run.

Each round measures every target once, in an order shuffled by --seed, so that a
disturbance of the machine hits all targets alike. All targets have the same number of
operations in flight: paths without batches get a larger window. The table has a section
for each load, and in it the targets by fabric, fastest first: the median rate, and its
ratio to the median of the baseline, both with bootstrap intervals.

Without --window and --batch there are two loads: 1 operation in flight, and 16 (window 4
x batch 4). Targets that cannot run here are listed with the reason.`,
		Example: `  remora bench compare --quick                        a first look, in half a minute
  remora bench compare                                some minutes
  remora bench compare --path rfp,herd,memcached --fabric shm
  remora bench compare --baseline rfp/shm --value-size 1024 --dist zipf
  remora bench compare --csv rows.csv --trials 10     every trial, for a spreadsheet`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.registerStarted(cmd)
	f.output.register(cmd)
	f.output.registerSummary(cmd)
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "use few keys and short trials: half a minute in all")
	fl.StringVar(&f.baseline, "baseline", "", "`TARGET` of the ratios, such as memcached or rfp/shm (default memcached, else text)")
	completeFrom(cmd, "baseline", cache.Paths()...)
	complete(cmd)
	fl.Lookup("path").DefValue = "[all]"
	fl.Lookup("fabric").DefValue = "[shm,tcp, and rdma where there is a device]"
	f.cfg.Keys, f.cfg.Duration, f.cfg.Trials = cache.CompareKeys, cache.CompareDuration, cache.CompareTrials
	for _, name := range []string{"keys", "duration", "trials"} {
		fl.Lookup(name).DefValue = fl.Lookup(name).Value.String()
	}
	return cmd
}

// comparison translates the flags.
func (f *compareFlags) comparison(cmd *cobra.Command) (cache.Comparison, error) {
	cfg, err := f.config(cmd)
	changed := cmd.Flags().Changed
	if !changed("path") {
		cfg.Paths = nil
	}
	if !changed("fabric") {
		cfg.Fabrics = nil
	}
	if f.quick {
		if !changed("keys") {
			cfg.Keys = cache.QuickKeys
		}
		if !changed("duration") {
			cfg.Duration = cache.QuickDuration
		}
		if !changed("warmup") {
			cfg.Warmup = cache.QuickWarmup
		}
		if !changed("trials") {
			cfg.Trials = cache.QuickTrials
		}
		if !changed("keys") && !changed("value-size") && !changed("memory") && !changed("cache") {
			cfg.Memory = cache.QuickMemory * int64(cfg.Cores)
		}
	}
	return cache.Comparison{Base: cfg, Baseline: f.baseline}, err
}

func (f *compareFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	c, err := f.comparison(cmd)
	if err != nil {
		return err
	}
	env, sink, err := openBench[cache.Row](a, &f.output, "", workerCache)
	if err != nil {
		return err
	}
	env.Row = func(r cache.Row) error { return sink.row(r) }
	report, err := cache.Compare(ctx, c, env)
	return f.finish(ctx, sink, err, report.Report, report.WriteTable)
}

// finish writes what comes after the rows.
func (f *benchFlags) finish(ctx context.Context, sink *rowSink[cache.Row], err error, r *cache.Report, table func(io.Writer) error) error {
	if f.output.summary {
		if werr := r.WriteJSON(sink.app.out); werr != nil {
			return werr
		}
		for _, sum := range r.Summaries() {
			if werr := json.NewEncoder(sink.app.out).Encode(sum); werr != nil {
				return werr
			}
		}
	}
	return sink.finish(ctx, err, r.Rows, &r.Remarks, table)
}
