package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/fabric"
)

// rpcFlags are the flags of bench rpc that need work before they are a Config.
type rpcFlags struct {
	cfg          calls.Config
	poll, server string
	output       benchOutput
}

func newBenchRPCCmd(a *app) *cobra.Command {
	var f rpcFlags
	cmd := &cobra.Command{
		Use:   "rpc",
		Short: "Measure calls through rpc/rfp: rate, latency, verbs, CPU",
		Long: `Measure calls through rpc/rfp: rate, latency, verbs of both sides per call, CPU. The
handler takes --process-time and returns its argument.

Paths:
  rfp     hybrid: the client fetches results by READ; a slow server pushes them
  fetch   the client always fetches results
  reply   the server always pushes results, by WRITE

A LIST makes a row for every combination.`,
		Example: `  remora bench rpc                                        one call at a time
  remora bench rpc --window 4 --batch 1,2,4,8,16,32       the gain of batches
  remora bench rpc --path rfp,fetch,reply --process-time 1us,4us,7us,12us
  remora bench rpc --clients 8 --threads 1 --connected 0,992
  remora bench rpc --goroutines 64 --fabric tcp
  remora bench rpc --window 8 --limit 20us --alpha 0.05   let it choose the batch size
  remora bench rpc --result-size 4096 --fetch-size 256 --no-inline --signal-all
  remora bench rpc --trials 5 --json
  remora bench rpc --fabric rdma --server-command 'ssh node2 remora bench worker rpc' --listen rdma://node2:0`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	f.output.register(cmd)
	return cmd
}

func (f *rpcFlags) register(cmd *cobra.Command) {
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Paths, "path", []string{calls.PathRFP}, "how results return, a `LIST`: "+strings.Join(calls.Paths(), ", "))
	fabricFlag(fl, &c.Fabric, calls.DefaultFabric)
	fl.IntSliceVar(&c.Sizes, "size", []int{calls.DefaultSize}, "`BYTES` of an argument, a list")
	fl.IntVar(&c.ResultSize, "result-size", 0, "`BYTES` of a result (default: as the argument)")
	fl.IntSliceVar(&c.Windows, "window", []int{1}, "frames in flight on each connection, a `LIST`")
	fl.IntSliceVar(&c.Batches, "batch", nil, "messages in a frame, a `LIST` (default 1; with --goroutines at most 32)")
	fl.DurationSliceVar(&c.ProcessTimes, "process-time", nil, "how long the handler takes, a `LIST` (default 0s)")
	fl.IntVar(&c.Clients, "clients", 1, "`NUMBER` of connections that make calls")
	fl.IntVar(&c.Threads, "threads", 0, "`NUMBER` of threads that share the connections (default: one for each)")
	fl.IntSliceVar(&c.Connected, "connected", nil, "additional idle connections, a `LIST` (default 0)")
	fl.IntVar(&c.Cores, "cores", 1, "`NUMBER` of cores of the server")
	fl.IntVar(&c.Goroutines, "goroutines", 0, "run `N` goroutines per connection, through an rfp.Client (default: none)")
	fl.IntVar(&c.Retries, "retries", 0, "R: `NUMBER` of failed READs that make a call slow (default 5)")
	fl.IntVar(&c.FetchSize, "fetch-size", 0, "F: `BYTES` of the first READ (default: the whole answer)")
	fl.DurationVar(&c.SleepAfter, "sleep-after", 0, "process time from which a client sleeps until the reply (default 30us)")
	fl.BoolVar(&c.NoInline, "no-inline", false, "do not send data inline")
	fl.BoolVar(&c.SignalAll, "signal-all", false, "request a completion for every work request")
	pollFlag(fl, &f.poll)
	fl.DurationVar(&c.Limit, "limit", 0, "let connections choose a batch size with which calls take at most this time")
	fl.Float64Var(&c.Alpha, "alpha", 0, "`SHARE` of the calls that may take longer than --limit (default 0.05)")
	section(fl, "Remote fetching", "retries", "fetch-size", "sleep-after", "limit", "alpha", "no-inline", "signal-all")
	section(fl, "Clients", "threads", "connected", "goroutines")
	placementFlag(fl, &c.Placements)
	section(fl, "Server", "cores", "poll", "placement")
	c.Duration, c.Warmup, c.Trials = calls.DefaultDuration, calls.DefaultWarmup, 1
	f.trials().register(fl, "connection or goroutine")
	remoteFlags(fl, &f.server, &c.Listen, workerRPC)
	completeFrom(cmd, "placement", host.Sharings()...)
	completeFrom(cmd, "path", calls.Paths()...)
	complete(cmd)
}

func (f *rpcFlags) trials() trialFlags {
	c := &f.cfg
	return trialFlags{&c.Duration, &c.Warmup, &c.Ops, &c.Trials}
}

// config translates the flags.
func (f *rpcFlags) config(cmd *cobra.Command) (calls.Config, error) {
	cfg := f.cfg
	cfg.Remote = f.server != ""
	cfg.Poll, _ = fabric.ParsePolicy(f.poll) // which was checked
	return cfg, errors.Join(
		atLeastOne(cmd, "clients", cfg.Clients), atLeastOne(cmd, "threads", cfg.Threads), atLeastOne(cmd, "cores", cfg.Cores),
		f.trials().check(cmd), exclusive(cmd, "goroutines", "threads"), needs(cmd, "alpha", "limit"), elsewhereNeedsListen(cmd))
}

func (f *rpcFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	env, sink, err := openBench[calls.Row](a, &f.output, f.server, workerRPC)
	if err != nil {
		return err
	}
	report, err := calls.Run(ctx, cfg, env)
	return sink.finish(ctx, err, report.Rows, &report.Remarks, report.WriteTable)
}
