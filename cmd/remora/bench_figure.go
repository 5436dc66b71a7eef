package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/bench/kvl"
	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/bench/preset"
	"github.com/remora-kv/remora/fabric/provider"
)

// figureFlags are the flags of bench figure.
type figureFlags struct {
	size   preset.Size
	memory size
	csv    string
}

func newBenchFigureCmd(a *app) *cobra.Command {
	var f figureFlags
	cmd := &cobra.Command{
		Use:   "figure [NAME]",
		Short: "Measure a figure or table of a paper, or list them",
		Long: `Measure a figure or table of a paper on this machine. Without NAME list them all: what
each shows, what the authors measured on their hardware, and what is different here.

` + describePresets(),
		Example: `  remora bench figure
  remora bench figure rfp-fig4
  remora bench figure herd-fig10 --fabric tcp --trials 5 --csv fig10.csv
  remora bench figure herd-verbs --out figures      draw Figures 2 to 7 of the HERD paper`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("%s takes one figure, but was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		ValidArgs: presetNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listPresets()
			}
			return f.run(cmd, a, args[0])
		},
	}
	f.register(cmd)
	cmd.AddCommand(newBenchFigureVerbsCmd(a))
	return cmd
}

// describePresets is a line for each.
func describePresets() string {
	var b strings.Builder
	for _, p := range preset.All() {
		fmt.Fprintf(&b, "  %-13s %s, %s: %s\n", p.Name, shortPaper(p.Paper), p.Figure, p.Title)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// presetNames are the names for completion, with titles.
func presetNames() (names []string) {
	for _, p := range preset.All() {
		names = append(names, p.Name+"\t"+p.Title)
	}
	return names
}

// shortPaper is the name of the system.
func shortPaper(paper string) string {
	name, _, _ := strings.Cut(paper, ":")
	name, _, _ = strings.Cut(name, " (")
	return name
}

func (a *app) listPresets() error {
	for _, p := range preset.All() {
		if a.json {
			if err := json.NewEncoder(a.out).Encode(map[string]string{
				"preset": p.Name, "paper": p.Paper, "figure": p.Figure, "title": p.Title, "found": p.Found, "ours": p.Ours,
			}); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(a.out, "%s\n  %s, %s: %s\n  found there: %s\n  here: %s\n", p.Name, p.Paper, p.Figure, p.Title, p.Found, p.Ours); err != nil {
			return err
		}
	}
	return nil
}

func (f *figureFlags) register(cmd *cobra.Command) {
	f.size = preset.Default(runtime.NumCPU())
	f.memory = size(f.size.Memory)
	fl, s := cmd.Flags(), &f.size
	choose(fl, &s.Fabric, "fabric", s.Fabric, "fabric of Remora's paths: "+either(provider.Names()), provider.Names()...)
	fl.IntVar(&s.Trials, "trials", s.Trials, "`NUMBER` of trials of each point; the table shows the median")
	fl.StringVar(&f.csv, "csv", "", "write all rows as CSV to `FILE`; - is standard output, instead of the table")
	fl.DurationVar(&s.Duration, "duration", s.Duration, "length of a trial")
	fl.DurationVar(&s.Warmup, "warmup", s.Warmup, "time before each trial, not counted")
	fl.IntVar(&s.TrialOps, "ops", 0, "end a trial after `N` operations of each client, instead of by time")
	fl.IntVar(&s.Keys, "keys", s.Keys, "`NUMBER` of keys")
	fl.Var(&f.memory, "memory", "memory of the server")
	fl.Float64Var(&s.Scale, "scale", s.Scale, "size of the data of keli-* (1: as in the paper)")
	fl.Uint64Var(&s.Seed, "seed", cache.DefaultSeed, "the same `NUMBER` makes the same operations")
	complete(cmd)
}

// presetEnv is the environment of all benchmarks.
func presetEnv() (env preset.Env, err error) {
	argv := func(kind string) []string {
		line, failed := workerArgv("", kind)
		err = errors.Join(err, failed)
		return line
	}
	providers := provider.New()
	env = preset.Env{
		Cache: cache.Env{Providers: providers, Server: argv(workerCache), Version: programVersion()},
		Call:  call.Env{Providers: providers, Server: argv(workerRPC)},
		KVL:   kvl.Env{Providers: providers, Server: argv(workerKVL)},
		Perf:  perf.Env{Providers: providers, Server: argv(workerVerbs)},
	}
	return env, err
}

// check refuses what cannot be meant.
func (f *figureFlags) check(cmd *cobra.Command, a *app) error {
	s := &f.size
	s.Memory = int64(f.memory)
	if cmd.Flags().Changed("ops") {
		s.Ops = s.TrialOps
	}
	switch {
	case s.Trials < 1 || s.Keys < 1:
		return misuse("--trials and --keys must be at least 1")
	case s.Duration < time.Microsecond:
		return misuse("--duration %v is too short to measure anything", s.Duration)
	case !(s.Scale > 0):
		return misuse("--scale %v must be above 0", s.Scale)
	case s.Seed == 0:
		return misuse("--seed must not be 0")
	case f.csv == stdout && a.json:
		return misuse("--json and --csv - both want standard output: give --csv a file")
	}
	return exclusive(cmd, "ops", "duration")
}

// run measures a figure.
func (f *figureFlags) run(cmd *cobra.Command, a *app, name string) error {
	p, err := preset.Find(name)
	if err != nil {
		return usageError{err}
	}
	if err := f.check(cmd, a); err != nil {
		return err
	}
	env, err := presetEnv()
	if err != nil {
		return err
	}
	var table *preset.CSV
	switch f.csv {
	case "":
	case stdout:
		table = preset.NewCSV(a.out)
	default:
		file, err := os.Create(f.csv)
		if err != nil {
			return fmt.Errorf("--csv: %w", err)
		}
		defer func() { _ = file.Close() }()
		table = preset.NewCSV(file)
	}
	env.Row = func(r preset.Row) error {
		if table != nil {
			if err := table.Write(r); err != nil {
				return err
			}
		}
		if a.json {
			return r.WriteJSON(a.out)
		}
		return nil
	}
	return f.measure(cmd.Context(), a, p, env)
}

func (f *figureFlags) measure(ctx context.Context, a *app, p preset.Preset, env preset.Env) error {
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := preset.Run(ctx, p, f.size, env)
	bar.clear()
	return a.finish(ctx, err, outcome{
		rows: len(report.Rows) + len(report.Missing), remarks: &report.Remarks, writeTable: report.WriteTable, noTable: f.csv == stdout,
	})
}
