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

// figuresFlags are the flags of perf figures that need work before they are a
// Config.
type figuresFlags struct {
	cfg    figures.Config
	out    string
	table  size
	server string
}

func newPerfFiguresCmd(a *app) *cobra.Command {
	f := figuresFlags{table: perf.DefaultTable}
	cmd := &cobra.Command{
		Use:   "figures",
		Short: "Measure and draw Figures 2 to 7 of the HERD paper on this fabric",
		Long: `Measure and draw Figures 2 to 7 of the HERD paper ("Using RDMA Efficiently for
Key-Value Services") on this fabric:

` + describeFigures() + `
Writes into the directory of --out, for each figure, a CSV file with a row for every
point and a drawing (SVG), and index.md, which shows them beside what the paper found
and says which command measures each row alone. What the fabric cannot do is a row
that says why. Trials are interleaved, and rows are medians.`,
		Example: `  remora perf figures --out figures                     all, over shared memory: some four minutes
  remora perf figures --out figures --only 5,7
  remora perf figures --out figures --fabric tcp --trials 5 --duration 1s
  remora perf figures --out figures --fabric rdma --server-command 'ssh node2 remora perf-server' --listen rdma://node2:0`,
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
	fl.StringVar(&f.out, "out", "", "`DIR` to write to; it is made when it is not there")
	fl.StringVar(&c.Fabric, "fabric", perf.DefaultFabric, "`NAME` of the fabric: "+strings.Join(provider.Names(), ", "))
	fl.IntSliceVar(&c.Only, "only", nil, "`NUMBERS` of the figures, a list (default all)")
	fl.DurationVar(&c.Duration, "duration", figures.DefaultDuration, "length of a trial")
	fl.DurationVar(&c.Warmup, "warmup", figures.DefaultWarmup, "time before a trial that does not count")
	fl.IntVar(&c.Trials, "trials", figures.DefaultTrials, "how often to measure each point")
	fl.Var(&f.table, "table", "memory that the server of Figure 7 searches; to be larger than the caches")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that starts perf-server elsewhere, its standard input and output connected to here")
	fl.StringVar(&c.Listen, "listen", "", "`URL` where the server listens (default: a place of its own on this host)")
	fixed := func(name string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("fabric", provider.Names()...)
	var numbers []string
	for _, f := range figures.Plan(1) {
		numbers = append(numbers, fmt.Sprintf("%d\t%s", f.Number, f.Title))
	}
	fixed("only", numbers...)
	for _, name := range []string{"duration", "warmup", "trials", "table", "listen", "server-command"} {
		fixed(name)
	}
	_ = cmd.MarkFlagDirname("out")
}

// config turns flags into what is to be measured. A zero in the library means the
// default; from a user it is a mistake, or none.
func (f *figuresFlags) config(cmd *cobra.Command) (figures.Config, error) {
	cfg, changed := f.cfg, cmd.Flags().Changed
	switch {
	case f.out == "":
		return cfg, misuse("--out is missing: the directory that the figures are written to")
	case cfg.Duration < time.Microsecond:
		return cfg, misuse("--duration %v is too short to measure anything", cfg.Duration)
	case cfg.Warmup < 0:
		return cfg, misuse("--warmup %v must not be negative", cfg.Warmup)
	case cfg.Trials < 1:
		return cfg, misuse("--trials %d must be at least 1", cfg.Trials)
	case changed("table") && f.table < 1<<10:
		return cfg, misuse("--table of %d bytes is too small to search: 1 KiB or more", int64(f.table))
	case f.server != "" && cfg.Listen == "":
		return cfg, misuse("--server-command needs --listen, the address that the server is reached at from here")
	}
	if cfg.Warmup == 0 {
		cfg.Warmup = -1
	}
	if changed("table") {
		cfg.Table = int(f.table)
	}
	cfg.Remote = f.server != ""
	return cfg, nil
}

func (f *figuresFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	argv, err := serverArgv(f.server, perfServer)
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
	if !a.json {
		if werr := a.tellFigures(report, f.out); werr != nil {
			return werr
		}
	}
	return a.finish(ctx, err, outcome{})
}

// tellFigures says what was measured, and where it is.
func (a *app) tellFigures(r *figures.Report, dir string) error {
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
