package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// perfFlags are the flags of perf that need work before they are a Config.
type perfFlags struct {
	cfg                perf.Config
	inline, unsignaled bool
	prefetch           []string
	table              size
	poll               string
	server             string
}

func newPerfCmd(a *app) *cobra.Command {
	var f perfFlags
	cmd := &cobra.Command{
		Use:   "perf [TEST...]",
		Short: "Measure a fabric: latency and rate of each verb, in-bound, out-bound and echoed",
		Long: `Measure a fabric: latency and rate of each verb, in-bound, out-bound and echoed.

The server is a second process of this host on a CPU of its own, started and
stopped by perf. Tests, of which any number can be named:

` + describeTests() + `
Of a test with several operations one can be named: inbound-write, outbound-send.
Without TEST, or with all, every test runs at the windows at which it is
interesting, after the limit of the bare machine, with which echoes are compared.
The figures of the HERD paper are measured and drawn by remora perf figures.`,
		Example: `  remora perf                                     everything, over shared memory
  remora perf read --size 8,64,1024               latency of READ by size
  remora perf write --window 16 --inline --unsignaled
  remora perf echo-ww limit --window 1,8          the fabric against the bare machine
  remora perf echo-ss --fabric tcp --transport ud --json
  remora perf inbound --threads 4 --duration 10s --trials 5
  remora perf echo-ws --accesses 2,8 --prefetch on,off --window 32
  remora perf figures --out figures               Figures 2 to 7 of the HERD paper
  remora perf idle                                CPU of a server that nobody calls
  remora perf --fabric rdma                       everything, over the RDMA adapter of this host
  remora perf --fabric tcp --server-command 'ssh node2 remora perf-server' --listen tcp://node2:0`,
		ValidArgs: completions(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd, a, args)
		},
	}
	f.register(cmd)
	cmd.AddCommand(newPerfFiguresCmd(a))
	return cmd
}

// describeTests lists the catalogue.
func describeTests() string {
	var b strings.Builder
	for _, t := range perf.Tests() {
		names := make([]string, len(t.Transports))
		for i, tr := range t.Transports {
			names[i] = tr.String()
		}
		on := ""
		if len(names) > 0 {
			on = " (" + strings.Join(names, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-14s %s%s\n", t.Name, t.About, on)
	}
	return b.String()
}

// completions are the test names with their descriptions.
func completions() []string {
	out := []string{perf.All + "\tevery test"}
	for _, t := range perf.Tests() {
		out = append(out, t.Name+"\t"+t.About)
	}
	for _, t := range perf.Parts() {
		out = append(out, t.Name+"\t"+t.About)
	}
	return out
}

func (f *perfFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.cfg.Fabric, "fabric", perf.DefaultFabric, "`NAME` of the fabric: "+strings.Join(provider.Names(), ", "))
	fl.StringVar(&f.cfg.Transport, "transport", "rc", "`TYPE` of the queue pairs: rc, uc or ud")
	fl.StringVar(&f.cfg.ReplyTransport, "reply-transport", "", "ud: the replies of echo-ws are datagrams, as in HERD (default: as --transport)")
	fl.IntSliceVar(&f.cfg.Sizes, "size", nil, "message `BYTES`, a list for one row each (default 8 for limit, fetch-add and echoes, 64 for read, write and send, else 32)")
	fl.IntSliceVar(&f.cfg.Windows, "window", nil, "operations in flight on each queue pair, a `LIST` for one row each (default 1; 1,8 for limit; 16 for inbound, outbound, all-to-all and all-to-all-out)")
	fl.IntVar(&f.cfg.Threads, "threads", 0, "client threads, each with a queue pair of its own (default 1; 2 for inbound, outbound, all-to-all and all-to-all-out)")
	fl.BoolVar(&f.inline, "inline", false, "send the data within the request (default: where it fits, in echoes, inbound, outbound, all-to-all and all-to-all-out)")
	fl.BoolVar(&f.unsignaled, "unsignaled", false, "ask for one completion in many (default: in echoes, inbound, outbound, all-to-all and all-to-all-out)")
	fl.IntSliceVar(&f.cfg.Accesses, "accesses", nil, "random memory accesses of the server for each request of echo-ws or echo-ww, a `LIST` (default 0)")
	fl.StringSliceVar(&f.prefetch, "prefetch", nil, "whether the server asks for that memory ahead: on, off or both (default on)")
	f.table = perf.DefaultTable
	fl.Var(&f.table, "table", "memory that --accesses go to; to be larger than the caches")
	fl.StringVar(&f.poll, "poll", fabric.Adaptive.String(), "how a thread waits when nothing comes: busy or adaptive")
	fl.DurationVar(&f.cfg.Duration, "duration", perf.DefaultDuration, "length of a trial (1s for all)")
	fl.IntVar(&f.cfg.Ops, "ops", 0, "end a trial after so many operations of each thread, instead of by time")
	fl.DurationVar(&f.cfg.Warmup, "warmup", perf.DefaultWarmup, "time before the first trial that does not count")
	fl.IntVar(&f.cfg.Trials, "trials", 1, "how often to measure each row; the table shows the median")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that starts perf-server elsewhere, its standard input and output connected to here")
	fl.StringVar(&f.cfg.Listen, "listen", "", "`URL` where the server listens (default: a place of its own on this host)")
	fixed := func(name string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("fabric", provider.Names()...)
	fixed("transport", "rc", "uc", "ud")
	fixed("reply-transport", "ud")
	fixed("poll", "adaptive", "busy")
	fixed("prefetch", "on", "off", "on,off")
	for _, name := range []string{"size", "window", "threads", "accesses", "table", "duration", "ops", "warmup", "trials", "listen", "server-command"} {
		fixed(name)
	}
}

// config turns flags and arguments into what is to be measured.
func (f *perfFlags) config(cmd *cobra.Command, args []string) (perf.Config, error) {
	cfg := f.cfg
	cfg.Tests = args
	changed := cmd.Flags().Changed
	toggle := func(name string, on bool) perf.Toggle {
		switch {
		case !changed(name):
			return perf.Auto
		case on:
			return perf.On
		}
		return perf.Off
	}
	cfg.Inline, cfg.Unsignaled = toggle("inline", f.inline), toggle("unsignaled", f.unsignaled)
	if !changed("duration") {
		cfg.Duration = 0
	}
	if changed("threads") && cfg.Threads < 1 {
		return cfg, misuse("--threads %d must be at least 1", cfg.Threads)
	}
	if cfg.Remote = f.server != ""; cfg.Remote && cfg.Listen == "" {
		return cfg, misuse("--server-command needs --listen, the address that the server is reached at from here")
	}
	for _, word := range f.prefetch {
		if word != "on" && word != "off" {
			return cfg, misuse("--prefetch %q is unknown: use on, off or on,off", word)
		}
		cfg.Prefetch = append(cfg.Prefetch, word == "on")
	}
	if changed("table") {
		cfg.Table = int(f.table)
		if cfg.Table == 0 {
			return cfg, misuse("--table of 0 bytes has nothing to look up")
		}
	}
	var err error
	if cfg.Poll, err = fabric.ParsePolicy(f.poll); err != nil {
		return cfg, misuse("--poll %q is unknown: use adaptive or busy", f.poll)
	}
	return cfg, nil
}

func (f *perfFlags) run(ctx context.Context, cmd *cobra.Command, a *app, args []string) error {
	cfg, err := f.config(cmd, args)
	if err != nil {
		return err
	}
	argv, err := serverArgv(f.server, perfServer)
	if err != nil {
		return err
	}
	env := perf.Env{Providers: a.providers(), Server: argv}
	if a.json {
		env.Row = func(r perf.Row) error { return r.WriteJSON(a.out) }
	}
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := perf.Run(ctx, cfg, env)
	bar.clear()
	if report == nil {
		report = &perf.Report{}
	}
	return a.finish(ctx, err, outcome{rows: len(report.Rows), warnings: report.Warnings, writeTable: report.WriteTable})
}
