package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/figures"
	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/fabric/provider"
)

// figuresFlags are the flags of bench figure herd-verbs that need work before they are a
// Config.
type figuresFlags struct {
	cfg    figures.Config
	out    string
	table  size
	server string
}

func newBenchFigureVerbsCmd(a *app) *cobra.Command {
	f := figuresFlags{table: perf.DefaultTable}
	cmd := &cobra.Command{
		Use:   "herd-verbs",
		Short: "Measure and draw Figures 2 to 7 of the HERD paper on this fabric",
		Long: `Measure and draw Figures 2 to 7 of the HERD paper ("Using RDMA Efficiently for
Key-Value Services") on this fabric:

` + describeFigures() + `
Writes a CSV file and a drawing (SVG) for each figure into --out, and index.md, which
shows them beside the results of the paper, with the command that measures each row
alone. Points that the fabric cannot do are rows with the reason. Trials are
interleaved; rows are medians.`,
		Example: `  remora bench figure herd-verbs --out figures                     all, over shared memory: about four minutes
  remora bench figure herd-verbs --out figures --only 5,7
  remora bench figure herd-verbs --out figures --fabric tcp --trials 5 --duration 1s
  remora bench figure herd-verbs --out figures --fabric rdma --server-command 'ssh node2 remora bench worker verbs' --listen rdma://node2:0`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	return cmd
}

// describeFigures lists the figures.
func describeFigures() string {
	var b strings.Builder
	for _, f := range figures.Plan(1) {
		fmt.Fprintf(&b, "  %d  %s\n", f.Number, f.Title)
	}
	return b.String()
}

func (f *figuresFlags) register(cmd *cobra.Command) {
	fl, c := cmd.Flags(), &f.cfg
	fl.StringVar(&f.out, "out", "", "`DIR` to write to; created if missing")
	choose(fl, &c.Fabric, "fabric", perf.DefaultFabric, "fabric to measure: "+either(provider.Names()), provider.Names()...)
	fl.IntSliceVar(&c.Only, "only", nil, "`NUMBERS` of the figures, a list (default: all)")
	fl.DurationVar(&c.Duration, "duration", figures.DefaultDuration, "length of a trial")
	fl.DurationVar(&c.Warmup, "warmup", figures.DefaultWarmup, "time before each trial, not counted")
	fl.IntVar(&c.Trials, "trials", figures.DefaultTrials, "`NUMBER` of trials of each point")
	fl.Var(&f.table, "table", "size of the memory that the server of Figure 7 searches, larger than the caches")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that runs remora bench worker verbs on another host, such as ssh")
	fl.StringVar(&c.Listen, "listen", "", "`URL` for that server to listen on")
	section(fl, "Server", "table", "server-command", "listen")
	var numbers []string
	for _, f := range figures.Plan(1) {
		numbers = append(numbers, fmt.Sprintf("%d\t%s", f.Number, f.Title))
	}
	completeFrom(cmd, "only", numbers...)
	complete(cmd)
}

// config translates the flags. A zero means the default in the library, but is a mistake
// of a user.
func (f *figuresFlags) config(cmd *cobra.Command) (figures.Config, error) {
	cfg, changed := f.cfg, cmd.Flags().Changed
	switch {
	case f.out == "":
		return cfg, misuse("--out is missing: the directory for the figures")
	case cfg.Duration < time.Microsecond:
		return cfg, misuse("--duration %v is too short to measure anything", cfg.Duration)
	case cfg.Warmup < 0:
		return cfg, misuse("--warmup %v must not be negative", cfg.Warmup)
	case cfg.Trials < 1:
		return cfg, misuse("--trials %d must be at least 1", cfg.Trials)
	case changed("table") && f.table < 1<<10:
		return cfg, misuse("--table of %d bytes is too small to search: 1 KiB or more", int64(f.table))
	}
	if cfg.Warmup == 0 {
		cfg.Warmup = -1
	}
	if changed("table") {
		cfg.Table = int(f.table)
	}
	cfg.Remote = f.server != ""
	return cfg, elsewhereNeedsListen(cmd)
}

func (f *figuresFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	argv, err := workerArgv(f.server, workerVerbs)
	if err != nil {
		return err
	}
	if err := figures.Prepare(f.out); err != nil {
		return err
	}
	env := figures.Env{Perf: perf.Env{Providers: a.providers(), Server: argv}}
	if a.json {
		env.Row = func(r figures.Row) error { return r.WriteJSON(a.out) }
	}
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := figures.Run(ctx, cfg, env)
	bar.clear()
	if report == nil {
		return a.finish(ctx, err, outcome{})
	}
	if werr := report.Write(f.out); werr != nil {
		return werr
	}
	if a.json {
		a.remark(&report.Remarks)
	} else {
		if werr := a.tellFigures(report, f.out); werr != nil {
			return werr
		}
	}
	return a.finish(ctx, err, outcome{})
}

// tellFigures prints what was measured, and where it is.
func (a *app) tellFigures(r *figures.Report, dir string) error {
	for _, s := range r.Top() {
		if _, err := fmt.Fprintln(a.out, s); err != nil {
			return err
		}
	}
	for i := range r.Figures {
		m := &r.Figures[i]
		done, all := m.Count()
		missing := ""
		if done < all {
			missing = fmt.Sprintf(", %d of them not measured", all-done)
		}
		if _, err := fmt.Fprintf(a.out, "Figure %d: %s (%d points%s)\n  %s  %s\n", m.Number, m.Title, all, missing,
			filepath.Join(dir, m.SVGName()), filepath.Join(dir, m.CSVName())); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "%s shows all, with the conditions and commands. It took %v.\n",
		filepath.Join(dir, figures.IndexName), r.Took.Round(time.Second))
	return err
}
