package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/kvl"
)

// kvlFlags are the flags of bench kvl.
type kvlFlags struct {
	cfg    kvl.Config
	output benchOutput
}

func newBenchKVLCmd(a *app) *cobra.Command {
	var f kvlFlags
	cmd := &cobra.Command{
		Use:   "kvl",
		Short: "Compare links with keys: the applications of the KELI paper",
		Long: `Compare links with keys: the applications of the KELI paper. Each path has its own
server process, paths are measured in turn, and their results must be equal.

Applications:
  item     one item at a time (Figure 8)
  match    find the street of a position (Figure 9)
  page     a product with all its reviews (Figure 10)
  search   breadth-first search over the followers of a user (Figure 11)

Paths:
  links      look up the first item, then follow links with one READ each
  lookup     the same server, by key
  rfp        the cache, by key
  batch      the cache, by key, half a window in each frame
  memcached  memcached, by key, over a socket
  NAME-one   search with one read in flight, as in the paper (links, rfp, memcached)
  links-two  search with two workers, the second on the otherwise idle CPU of the server`,
		Example: `  remora bench kvl                                     all, as large as in the paper
  remora bench kvl --scale 0.02                        a first look
  remora bench kvl --app search --path links,rfp --fabric tcp
  remora bench kvl --app page --placement own,one,busy-both
  remora bench kvl --report out                        a page with charts`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Apps, "app", kvl.Apps(), "applications, a `LIST`")
	fl.StringSliceVar(&c.Paths, "path", kvl.Paths(), "paths, a `LIST`")
	fabricFlag(fl, &c.Fabric, kvl.DefaultFabric)
	fl.Float64Var(&c.Scale, "scale", 1, "size of the data (1: as in the paper)")
	fl.IntVar(&c.Window, "window", kvl.DefaultWindow, "`NUMBER` of reads in flight")
	fl.IntVar(&c.Ops, "ops", kvl.DefaultOps, "`NUMBER` of items, positions or pages in a trial")
	fl.IntVar(&c.Users, "users", 0, "`NUMBER` of users that a search visits at most (default: all)")
	fl.IntVar(&c.MemcachedUsers, "memcached-users", kvl.DefaultOps, "the same for memcached")
	fl.IntVar(&c.Trials, "trials", kvl.DefaultTrials, "`NUMBER` of trials of each row; the table shows the median")
	seedFlag(fl, &c.Seed, 1)
	placementFlag(fl, &c.Placements)
	section(fl, "Server", "placement")
	f.output.register(cmd)
	completeFrom(cmd, "app", kvl.Apps()...)
	completeFrom(cmd, "placement", host.Sharings()...)
	completeFrom(cmd, "path", kvl.Paths()...)
	complete(cmd)
	return cmd
}

func (f *kvlFlags) run(ctx context.Context, a *app) error {
	env, sink, err := openBench[kvl.Row](a, &f.output, "", workerKVL)
	if err != nil {
		return err
	}
	report, err := kvl.Run(ctx, f.cfg, env)
	return sink.finish(ctx, err, report.Rows, &report.Remarks, report.WriteTable, picture{
		ID: "kvl", Title: "Links against keys", About: "The mean time of an operation, in that of links.", Figure: report.Picture(),
	})
}
