package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric"
)

// verbsFlags are the flags of bench verbs that need work before they are a Config.
type verbsFlags struct {
	cfg                verbs.Config
	inline, unsignaled bool
	prefetch           []string
	table              size
	poll               string
	server             string
	output             benchOutput
}

func newBenchVerbsCmd(a *app) *cobra.Command {
	var f verbsFlags
	cmd := &cobra.Command{
		Use:   "verbs [TEST...]",
		Short: "Measure a fabric: latency and rate of each verb, in-bound, out-bound and echoed",
		Long: `Measure a fabric: latency and rate of each verb, in-bound, out-bound and echoed.

Tests:
` + describeTests() + `
A part of a test can be named alone: inbound-write, outbound-send. Without TEST, or with
all, every test runs at its interesting windows, after the limit of the bare machine,
with which echoes are compared. remora bench figure herd-fig2 to herd-fig7 draw
figures of the HERD paper from these tests.`,
		Example: `  remora bench verbs                                     everything, over shared memory
  remora bench verbs read --size 8,64,1024               latency of READ by size
  remora bench verbs write --window 16 --inline --unsignaled
  remora bench verbs echo-ww limit --window 1,8          the fabric against the bare machine
  remora bench verbs echo-ss --fabric tcp --transport ud --json
  remora bench verbs inbound --threads 4 --duration 10s --trials 5
  remora bench verbs echo-ws --accesses 2,8 --prefetch on,off --window 32
  remora bench figure herd-fig3 --report out             Figure 3 of the HERD paper
  remora bench verbs limit echo-ww --placement own,one,busy-client
  remora bench verbs idle                                CPU time of an idle server
  remora bench verbs --fabric rdma                       everything, over the RDMA adapter of this host
  remora bench verbs --fabric tcp --server-command 'ssh node2 remora bench worker verbs' --listen tcp://node2:0`,
		ValidArgs: completions(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), cmd, a, args)
		},
	}
	f.register(cmd)
	f.output.register(cmd)
	return cmd
}

// describeTests lists the catalogue.
func describeTests() string {
	var b strings.Builder
	for _, t := range verbs.Tests() {
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
	out := []string{verbs.All + "\tevery test"}
	for _, t := range verbs.Tests() {
		out = append(out, t.Name+"\t"+t.About)
	}
	for _, t := range verbs.Parts() {
		out = append(out, t.Name+"\t"+t.About)
	}
	return out
}

func (f *verbsFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fabricFlag(fl, &f.cfg.Fabric, verbs.DefaultFabric)
	choose(fl, &f.cfg.Transport, "transport", "rc", "type of the queue pairs", "rc", "uc", "ud")
	choose(fl, &f.cfg.ReplyTransport, "reply-transport", "", "ud: replies of echo-ws are datagrams, as in HERD (default: as --transport)", "ud")
	fl.IntSliceVar(&f.cfg.Sizes, "size", nil, "`BYTES` of a message, a list (default: by test, 8 to 64)")
	fl.IntSliceVar(&f.cfg.Windows, "window", nil, "operations in flight on each queue pair, a `LIST` (default: by test, 1 to 16)")
	fl.IntVar(&f.cfg.Threads, "threads", 0, "`NUMBER` of client threads, each with its own queue pair (default: by test, 1 or 2)")
	fl.BoolVar(&f.inline, "inline", false, "send data inline (default: if it fits, in tests of the rate)")
	fl.BoolVar(&f.unsignaled, "unsignaled", false, "request one completion for many work requests (default: in tests of the rate)")
	fl.IntSliceVar(&f.cfg.Accesses, "accesses", nil, "random memory accesses of the server for each request of echo-ws or echo-ww, a `LIST` (default 0)")
	fl.StringSliceVar(&f.prefetch, "prefetch", nil, "whether the server prefetches that memory, a `LIST` of on, off (default on)")
	f.table = verbs.DefaultTable
	fl.Var(&f.table, "table", "size of the memory of --accesses, larger than the caches")
	pollFlag(fl, &f.poll)
	section(fl, "Posting", "transport", "reply-transport", "inline", "unsignaled")
	section(fl, "Memory accesses of echoes", "accesses", "prefetch", "table")
	placementFlag(fl, &f.cfg.Placements)
	section(fl, "Server", "poll", "placement")
	c := &f.cfg
	c.Duration, c.Warmup, c.Trials = verbs.DefaultDuration, verbs.DefaultWarmup, 1
	f.trials().register(fl, "thread")
	fl.Lookup("duration").Usage += " (1s for all)"
	remoteFlags(fl, &f.server, &c.Listen, workerVerbs)
	completeFrom(cmd, "placement", host.Sharings()...)
	completeFrom(cmd, "prefetch", "on", "off", "on,off")
	complete(cmd)
}

func (f *verbsFlags) trials() trialFlags {
	c := &f.cfg
	return trialFlags{&c.Duration, &c.Warmup, &c.Ops, &c.Trials}
}

// config translates the flags and arguments.
func (f *verbsFlags) config(cmd *cobra.Command, args []string) (verbs.Config, error) {
	cfg := f.cfg
	cfg.Tests = args
	changed := cmd.Flags().Changed
	toggle := func(name string, on bool) verbs.Toggle {
		switch {
		case !changed(name):
			return verbs.Auto
		case on:
			return verbs.On
		}
		return verbs.Off
	}
	cfg.Inline, cfg.Unsignaled = toggle("inline", f.inline), toggle("unsignaled", f.unsignaled)
	if !changed("duration") {
		cfg.Duration = 0
	}
	if err := errors.Join(f.trials().check(cmd), atLeastOne(cmd, "threads", cfg.Threads), elsewhereNeedsListen(cmd)); err != nil {
		return cfg, err
	}
	cfg.Remote = f.server != ""
	for _, word := range f.prefetch {
		if word != "on" && word != "off" {
			return cfg, misuse("--prefetch %q is unknown: use on, off or on,off", word)
		}
		cfg.Prefetch = append(cfg.Prefetch, word == "on")
	}
	if changed("table") {
		cfg.Table = int(f.table)
		if cfg.Table == 0 {
			return cfg, misuse("--table must be larger than 0")
		}
	}
	cfg.Poll, _ = fabric.ParsePolicy(f.poll) // which was checked
	return cfg, nil
}

func (f *verbsFlags) run(ctx context.Context, cmd *cobra.Command, a *app, args []string) error {
	cfg, err := f.config(cmd, args)
	if err != nil {
		return err
	}
	env, sink, err := openBench[verbs.Row](a, &f.output, f.server, workerVerbs)
	if err != nil {
		return err
	}
	report, err := verbs.Run(ctx, cfg, env)
	return sink.finish(ctx, err, report.Rows, &report.Remarks, report.WriteTable)
}
