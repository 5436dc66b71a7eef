package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/kvl"
	"github.com/remora-kv/remora/fabric/provider"
)

// kvlServer is the name of the hidden command that bench kvl starts as its server.
const kvlServer = "kvl-server"

func newBenchKVLServerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    kvlServer,
		Short:  "The server process of bench kvl; it takes its commands from standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return kvl.Serve(cmd.Context(), provider.New(), a.in, a.out, a.err)
		},
	}
}

// kvlFlags are the flags of bench kvl.
type kvlFlags struct {
	cfg kvl.Config
	dir string
}

func newBenchKVLCmd(a *app) *cobra.Command {
	var f kvlFlags
	cmd := &cobra.Command{
		Use:   "kvl",
		Short: "Compare links with keys: the applications of the KELI paper",
		Long: `Compare links with keys: the applications of the KELI paper.

The same data is read with links (a lookup of the first item, then READs of those
behind its links, without the server) and with keys in their place. Applications:

  item     one item at a time (Figure 8)
  match    the street that a position belongs to (Figure 9)
  page     a product with all its reviews (Figure 10)
  search   breadth first over the followers of a user (Figure 11)

Paths: links; lookup (the same server, by key); rfp (keys, through the cache);
batch (the same, with half a window in each frame); memcached (keys, over a socket;
Debian's package). A search goes by links-one, rfp-one and memcached-one, too: with one
read at a time, as in the paper; and by links-two: two workers, one of them on the server's
CPU, which has nothing else to do. Each has a server process of its own, and all are
measured in turn. Their results are compared.`,
		Example: `  remora bench kvl                                     all, as large as in the paper
  remora bench kvl --scale 0.02                        a first look
  remora bench kvl --app search --path links,rfp --fabric tcp
  remora bench kvl --out results/                      with CSV and a figure`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), a) },
	}
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Apps, "app", kvl.Apps(), "applications, a `LIST`")
	fl.StringSliceVar(&c.Paths, "path", kvl.Paths(), "paths, a `LIST`")
	fl.StringVar(&c.Fabric, "fabric", kvl.DefaultFabric, "`NAME` of the fabric: "+strings.Join(provider.Names(), ", "))
	fl.Float64Var(&c.Scale, "scale", 1, "size of the data, in those of the paper")
	fl.IntVar(&c.Window, "window", kvl.DefaultWindow, "reads on their way at most")
	fl.IntVar(&c.Ops, "ops", kvl.DefaultOps, "items, positions or pages in a trial")
	fl.IntVar(&c.Users, "users", 0, "users that a search visits at most (default: all)")
	fl.IntVar(&c.MemcachedUsers, "memcached-users", kvl.DefaultOps, "users that a search through memcached visits at most")
	fl.IntVar(&c.Trials, "trials", kvl.DefaultTrials, "how often to measure each row; the table shows the median")
	fl.Uint64Var(&c.Seed, "seed", 1, "of the data and of what is read")
	fl.StringVar(&f.dir, "out", "", "`DIRECTORY` for kvl.csv and kvl.svg")
	completeFrom(cmd, "app", kvl.Apps()...)
	completeFrom(cmd, "path", kvl.Paths()...)
	completeFrom(cmd, "fabric", provider.Names()...)
	return cmd
}

func (f *kvlFlags) run(ctx context.Context, a *app) error {
	argv, err := serverArgv("", "bench", kvlServer)
	if err != nil {
		return err
	}
	env := kvl.Env{Providers: provider.New(), Server: argv}
	if a.json {
		env.Row = func(r kvl.Row) error { return r.WriteJSON(a.out) }
	}
	bar := newProgress(a.err)
	env.Progress = bar.show
	report, err := kvl.Run(ctx, f.cfg, env)
	bar.clear()
	if report == nil {
		report = &kvl.Report{}
	}
	if err == nil && f.dir != "" {
		err = f.write(report)
	}
	return a.finish(ctx, err, outcome{rows: len(report.Rows), warnings: report.Warnings, writeTable: report.WriteTable})
}

// write writes the rows and their figure into the directory.
func (f *kvlFlags) write(r *kvl.Report) error {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"kvl.csv": r.CSV(), "kvl.svg": r.SVG()} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
