package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// benchServer is the name of the hidden command that bench rpc starts as its
// server.
const benchServer = "rpc-server"

func newBenchServerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    benchServer,
		Short:  "The server process of bench rpc; it takes its commands from standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return call.Serve(cmd.Context(), provider.New(), a.in, a.out, a.err)
		},
	}
}

// rpcFlags are the flags of bench rpc that need work before they are a Config.
type rpcFlags struct {
	cfg          call.Config
	poll, server string
}

func newBenchRPCCmd(a *app) *cobra.Command {
	var f rpcFlags
	cmd := &cobra.Command{
		Use:   "rpc",
		Short: "Measure calls through rpc/rfp: rate, latency, verbs, CPU",
		Long: `Measure calls through rpc/rfp: rate, latency, verbs, CPU.

The server is a second process of this host on a CPU of its own, started and
stopped by bench; its handler takes --process-time and returns its argument. Paths:

  rfp     hybrid: results are fetched by READ, and pushed when the server is slow
  fetch   results are always fetched
  reply   results are always pushed, by WRITE

A list for --path, --size, --window, --batch, --process-time or --connected makes
a row for every combination. Verbs are those of both sides, for each call.`,
		Example: `  remora bench rpc                                        one call at a time
  remora bench rpc --window 4 --batch 1,2,4,8,16,32       what batches bring
  remora bench rpc --path rfp,fetch,reply --process-time 1us,4us,7us,12us
  remora bench rpc --clients 8 --threads 1 --connected 0,992
  remora bench rpc --goroutines 64 --fabric tcp
  remora bench rpc --window 8 --limit 20us --alpha 0.05   let it choose the batch size
  remora bench rpc --result-size 4096 --fetch-size 256 --no-inline --signal-all
  remora bench rpc --trials 5 --json
  remora bench rpc --fabric rdma --server-command 'ssh node2 remora bench rpc-server' --listen rdma://node2:0`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	return cmd
}

func (f *rpcFlags) register(cmd *cobra.Command) {
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Paths, "path", []string{call.PathRFP}, "how results return, a `LIST`: "+strings.Join(call.Paths(), ", "))
	fl.StringVar(&c.Fabric, "fabric", call.DefaultFabric, "`NAME` of the fabric: "+strings.Join(provider.Names(), ", "))
	fl.IntSliceVar(&c.Sizes, "size", []int{call.DefaultSize}, "`BYTES` of an argument, a list")
	fl.IntVar(&c.ResultSize, "result-size", 0, "`BYTES` of a result (default: as the argument)")
	fl.IntSliceVar(&c.Windows, "window", []int{1}, "frames on their way on each connection, a `LIST`")
	fl.IntSliceVar(&c.Batches, "batch", nil, "messages in a frame, a `LIST` (default 1; with --goroutines at most 32)")
	fl.DurationSliceVar(&c.ProcessTimes, "process-time", nil, "how long the handler takes, a `LIST` (default 0s)")
	fl.IntVar(&c.Clients, "clients", 1, "connections that make calls")
	fl.IntVar(&c.Threads, "threads", 0, "threads that share them (default: one for each)")
	fl.IntSliceVar(&c.Connected, "connected", nil, "further connections, which stay idle, a `LIST` (default 0)")
	fl.IntVar(&c.Cores, "cores", 1, "cores of the server")
	fl.IntVar(&c.Goroutines, "goroutines", 0, "so many goroutines share each connection through an rfp.Client (default: none)")
	fl.IntVar(&c.Retries, "retries", 0, "R: failed READs that make a call slow (default: that of rfp, 5)")
	fl.IntVar(&c.FetchSize, "fetch-size", 0, "F: `BYTES` of the first READ (default: what brings the whole answer)")
	fl.DurationVar(&c.NapAfter, "nap-after", 0, "process time from which a client that is replied to sleeps (default: that of rfp, 30us)")
	fl.BoolVar(&c.NoInline, "no-inline", false, "do not send data within requests")
	fl.BoolVar(&c.SignalAll, "signal-all", false, "ask for a completion of every request")
	fl.StringVar(&f.poll, "poll", fabric.Adaptive.String(), "how threads wait when nothing comes: busy or adaptive")
	fl.DurationVar(&c.Limit, "limit", 0, "let connections choose their batch size so that calls take no longer")
	fl.Float64Var(&c.Alpha, "alpha", 0, "`SHARE` of the calls that may (default 0.05)")
	fl.DurationVar(&c.Duration, "duration", call.DefaultDuration, "length of a trial")
	fl.IntVar(&c.Ops, "ops", 0, "end a trial after so many calls of each connection or goroutine, instead of by time")
	fl.DurationVar(&c.Warmup, "warmup", call.DefaultWarmup, "time before the first trial that does not count")
	fl.IntVar(&c.Trials, "trials", 1, "how often to measure each row; the table shows the median")
	fl.StringVar(&f.server, "server-command", "", "`COMMAND` that starts bench rpc-server elsewhere, its standard input and output connected to here")
	fl.StringVar(&c.Listen, "listen", "", "`URL` where the server listens (default: a place of its own on this host)")
	f.complete(cmd)
}

// complete offers the values of flags that have a few, and no file names for the
// others.
func (f *rpcFlags) complete(cmd *cobra.Command) {
	fixed := func(name string, values ...string) {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	fixed("path", call.Paths()...)
	fixed("fabric", provider.Names()...)
	fixed("poll", "adaptive", "busy")
	for _, name := range []string{
		"size", "result-size", "window", "batch", "process-time", "clients", "threads", "connected", "cores", "goroutines",
		"retries", "fetch-size", "limit", "alpha", "duration", "ops", "warmup", "trials", "listen", "server-command",
	} {
		fixed(name)
	}
}

// config turns flags into what is to be measured. A zero in the library means
// the default; from a user it is a mistake.
func (f *rpcFlags) config(cmd *cobra.Command) (call.Config, error) {
	cfg := f.cfg
	for name, v := range map[string]int{"clients": cfg.Clients, "threads": cfg.Threads, "cores": cfg.Cores, "trials": cfg.Trials} {
		if cmd.Flags().Changed(name) && v < 1 {
			return cfg, misuse("--%s %d must be at least 1", name, v)
		}
	}
	if cmd.Flags().Changed("duration") && cfg.Duration < time.Microsecond {
		return cfg, misuse("--duration %v is too short to measure anything", cfg.Duration)
	}
	if cfg.Goroutines != 0 && cmd.Flags().Changed("threads") {
		return cfg, misuse("--threads says which threads drive the connections; with --goroutines those do")
	}
	if cfg.Remote = f.server != ""; cfg.Remote && cfg.Listen == "" {
		return cfg, misuse("--server-command needs --listen, the address that the server is reached at from here")
	}
	var err error
	if cfg.Poll, err = fabric.ParsePolicy(f.poll); err != nil {
		return cfg, misuse("--poll %q is unknown: use adaptive or busy", f.poll)
	}
	return cfg, nil
}

func (f *rpcFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	argv, err := serverArgv(f.server, "bench", benchServer)
	if err != nil {
		return err
	}
	env := call.Env{Providers: provider.New(), Server: argv}
	if a.json {
		env.Row = func(r call.Row) error { return r.WriteJSON(a.out) }
	}
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := call.Run(ctx, cfg, env)
	bar.clear()
	if report == nil {
		report = &call.Report{}
	}
	return a.finish(ctx, err, outcome{rows: len(report.Rows), warnings: report.Warnings, writeTable: report.WriteTable})
}
