package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/bench/kvl"
	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/bench/preset"
	"github.com/remora-kv/remora/fabric/provider"
)

func newBenchPresetsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "presets",
		Short: "List the figures of papers that bench --preset measures",
		Long: `List the figures and tables of papers that bench --preset measures here: what each
shows, what the authors found on their hardware, and what is different.

` + describePresets() + `
Flags of bench that a preset takes: --fabric, --keys, --memory, --duration, --warmup, --ops,
--trials, --seed, --csv, and --scale for the data of the applications of KELI.`,
		Example: `  remora bench presets
  remora bench --preset rfp-fig4
  remora bench --preset herd-fig10 --fabric tcp --trials 5 --csv fig10.csv`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.listPresets() },
	}
}

// describePresets is a line for each.
func describePresets() string {
	var b strings.Builder
	for _, p := range preset.All() {
		fmt.Fprintf(&b, "  %-13s %s, %s: %s\n", p.Name, shortPaper(p.Paper), p.Figure, p.Title)
	}
	return b.String()
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

// presetFlags choose a preset, and are flags of bench.
type presetFlags struct {
	name  string
	scale float64
}

func (f *presetFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "preset", "", "measure a figure of a paper, by `NAME`: remora bench presets lists them")
	cmd.Flags().Float64Var(&f.scale, "scale", preset.Default(1).Scale, "size of the data of --preset keli-*, in those of the paper")
	var names []string
	for _, p := range preset.All() {
		names = append(names, fmt.Sprintf("%s\t%s", p.Name, p.Title))
	}
	completeFrom(cmd, "preset", names...)
	completeFrom(cmd, "scale")
}

// presetTakes are the flags that mean something beside --preset.
func presetTakes() []string {
	return []string{"preset", "scale", "fabric", "keys", "memory", "duration", "warmup", "ops", "trials", "seed", "csv", "json", "help"}
}

// size is that of the preset, with what the user has said.
func (f *benchFlags) size(cmd *cobra.Command) (preset.Size, error) {
	s, changed := preset.Default(runtime.NumCPU()), cmd.Flags().Changed
	var wrong string
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if !slices.Contains(presetTakes(), fl.Name) {
			wrong = fl.Name
		}
	})
	switch {
	case wrong != "":
		return s, misuse("--%s is chosen by --preset: with it there are %s", wrong, "--"+strings.Join(presetTakes()[1:11], ", --"))
	case len(f.cfg.Fabrics) != 1:
		return s, misuse("--preset is measured on one fabric: give one --fabric")
	case !(f.preset.scale > 0):
		return s, misuse("--scale %v must be above 0", f.preset.scale)
	}
	cfg, err := f.config(cmd)
	s.Fabric, s.Scale, s.Seed = cfg.Fabrics[0], f.preset.scale, cfg.Seed
	if changed("keys") {
		s.Keys = cfg.Keys
	}
	if changed("memory") {
		s.Memory = cfg.Memory
	}
	if changed("duration") {
		s.Duration = cfg.Duration
	}
	if changed("warmup") {
		s.Warmup = cfg.Warmup
	}
	if changed("ops") {
		s.Ops, s.TrialOps = cfg.Ops, cfg.Ops
	}
	if changed("trials") {
		s.Trials = cfg.Trials
	}
	return s, err
}

// presetEnv is the environment of all benchmarks.
func presetEnv() (env preset.Env, err error) {
	argv := func(args ...string) []string {
		var line []string
		if err == nil {
			line, err = serverArgv("", args...)
		}
		return line
	}
	providers := provider.New()
	env = preset.Env{
		Cache: cache.Env{Providers: providers, Server: argv("bench", cacheServer), Version: programVersion()},
		Call:  call.Env{Providers: providers, Server: argv("bench", benchServer)},
		KVL:   kvl.Env{Providers: providers, Server: argv("bench", kvlServer)},
		Perf:  perf.Env{Providers: providers, Server: argv(perfServer)},
	}
	return env, err
}

// runPreset measures a figure.
func (f *benchFlags) runPreset(ctx context.Context, cmd *cobra.Command, a *app) error {
	p, err := preset.Find(f.preset.name)
	if err != nil {
		return usageError{err}
	}
	size, err := f.size(cmd)
	if err != nil {
		return err
	}
	env, err := presetEnv()
	if err != nil {
		return err
	}
	var table *preset.CSV
	if f.output.csv != "" {
		w := a.out
		if f.output.csv != stdout {
			file, err := os.Create(f.output.csv)
			if err != nil {
				return fmt.Errorf("--csv: %w", err)
			}
			defer func() { _ = file.Close() }()
			w = file
		} else if a.json {
			return misuse("--json and --csv - both want standard output: give --csv a file")
		}
		table = preset.NewCSV(w)
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
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := preset.Run(ctx, p, size, env)
	bar.clear()
	return a.finish(ctx, err, outcome{
		rows: len(report.Rows) + len(report.Missing), warnings: report.Warnings, writeTable: report.WriteTable, noTable: f.output.csv == stdout,
	})
}
