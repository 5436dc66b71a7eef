package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/papers"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric/provider"
)

// figureFlags are the flags of bench figure.
type figureFlags struct {
	size          papers.Size
	memory, table size
	server        string
	output        benchOutput
}

func newBenchFigureCmd(a *app) *cobra.Command {
	var f figureFlags
	cmd := &cobra.Command{
		Use:   "figure [NAME...]",
		Short: "Measure figures and tables of papers, or list them",
		Long: `Measure figures and tables of papers on this machine. Without NAME list them all: what
each shows, what the authors measured on their hardware, and what is different here.
--report draws them, with the points of the authors beside ours.

` + describeFigures(),
		Example: `  remora bench figure
  remora bench figure rfp-fig4
  remora bench figure herd-fig10 --fabric tcp --trials 5 --csv fig10.csv
  remora bench figure herd-fig2 herd-fig3 herd-fig4 --report out      three figures on one page
  remora bench figure herd-fig5 --fabric rdma --server-command 'ssh node2 remora bench worker verbs' --listen rdma://node2:0`,
		ValidArgs: figureNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listFigures()
			}
			return f.run(cmd.Context(), cmd, a, args)
		},
	}
	f.register(cmd)
	return cmd
}

// describeFigures is a line for each.
func describeFigures() string {
	var b strings.Builder
	for _, p := range papers.All() {
		fmt.Fprintf(&b, "  %-13s %s, %s: %s\n", p.Name, shortPaper(p.Paper), p.Number, p.Title)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// figureNames are the names for completion, with titles.
func figureNames() (names []string) {
	for _, p := range papers.All() {
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

func (a *app) listFigures() error {
	for _, p := range papers.All() {
		if a.json {
			if err := json.NewEncoder(a.out).Encode(map[string]string{
				"preset": p.Name, "paper": p.Paper, "figure": p.Number, "title": p.Title, "found": p.Found, "ours": p.Ours,
			}); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(a.out, "%s\n  %s, %s: %s\n  found there: %s\n  here: %s\n", p.Name, p.Paper, p.Number, p.Title, p.Found, p.Ours); err != nil {
			return err
		}
	}
	return nil
}

func (f *figureFlags) register(cmd *cobra.Command) {
	f.size = papers.Default(runtime.NumCPU())
	f.memory, f.table = size(f.size.Memory), verbs.DefaultTable
	fl, s := cmd.Flags(), &f.size
	fabricFlag(fl, &s.Fabric, s.Fabric)
	f.trials().register(fl, "client")
	fl.IntVar(&s.Keys, "keys", s.Keys, "`NUMBER` of keys")
	fl.Var(&f.memory, "memory", "memory of the server")
	fl.Float64Var(&s.Scale, "scale", s.Scale, "size of the data of keli-* (1: as in the paper)")
	seedFlag(fl, &s.Seed, cache.DefaultSeed)
	fl.Var(&f.table, "table", "size of the memory that the server of herd-fig7 searches, larger than the caches")
	remoteFlags(fl, &f.server, &s.Listen, workerVerbs)
	fl.Lookup("server-command").Usage += ", for herd-fig2 to herd-fig7"
	section(fl, "Server", "memory", "table")
	section(fl, "Trials", "seed")
	f.output.register(cmd)
	complete(cmd)
}

func (f *figureFlags) trials() trialFlags {
	s := &f.size
	return trialFlags{&s.Duration, &s.Warmup, &s.TrialOps, &s.Trials}
}

// env is the environment of all benchmarks.
func (f *figureFlags) env() (env papers.Env, err error) {
	argv := func(command, kind string) []string {
		line, failed := workerArgv(command, kind)
		err = errors.Join(err, failed)
		return line
	}
	providers := provider.New()
	env = papers.Env{
		Cache: cache.Env{Providers: providers, Server: argv("", workerCache), Version: programVersion()},
		Calls: calls.Env{Providers: providers, Server: argv("", workerRPC)},
		KVL:   kvl.Env{Providers: providers, Server: argv("", workerKVL)},
		Verbs: verbs.Env{Providers: providers, Server: argv(f.server, workerVerbs)},
	}
	return env, err
}

// check refuses what cannot be meant.
func (f *figureFlags) check(cmd *cobra.Command) error {
	s, changed := &f.size, cmd.Flags().Changed
	s.Memory, s.Remote = int64(f.memory), f.server != ""
	if changed("ops") {
		s.Ops = s.TrialOps
	}
	if changed("table") {
		s.Table = int(f.table)
	}
	switch {
	case s.Warmup < 0:
		return misuse("--warmup %v must not be negative", s.Warmup)
	case !(s.Scale > 0):
		return misuse("--scale %v must be above 0", s.Scale)
	case s.Seed == 0:
		return misuse("--seed must not be 0")
	case changed("table") && f.table < 1<<10:
		return misuse("--table of %d bytes is too small to search: 1 KiB or more", int64(f.table))
	}
	return errors.Join(f.trials().check(cmd), atLeastOne(cmd, "keys", s.Keys), elsewhereNeedsListen(cmd))
}

// run measures figures, one after the other.
func (f *figureFlags) run(ctx context.Context, cmd *cobra.Command, a *app, names []string) error {
	var figures []papers.Figure
	for _, name := range names {
		p, err := papers.Find(name)
		if err != nil {
			return usageError{err}
		}
		figures = append(figures, p)
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	env, err := f.env()
	if err != nil {
		return err
	}
	sink, err := openSink[papers.Row](a, &f.output)
	if err != nil {
		return err
	}
	env.Row, env.Progress = sink.row, sink.bar.show
	var all measuredFigures
	for _, p := range figures {
		r, failed := papers.Run(ctx, p, f.size, env)
		err = errors.Join(err, failed)
		if r != nil {
			all = append(all, r)
			sink.more += len(r.Missing)
		}
		if ctx.Err() != nil {
			break
		}
	}
	rows, said := all.together()
	return sink.finish(ctx, err, rows, said, all.writeTable, all.pictures()...)
}

// measuredFigures are those of one run.
type measuredFigures []*papers.Report

// together are the rows of all, and what is to be said of them.
func (m measuredFigures) together() (rows []papers.Row, said *bench.Remarks) {
	said = &bench.Remarks{}
	for _, r := range m {
		rows = append(rows, r.Rows...)
		part := r.Remarks
		if len(m) > 1 {
			part.Warnings = nil
			for _, w := range r.Warnings {
				part.Warn(r.Figure.Name + ": " + w)
			}
		}
		said.Take(&part, r.Figure.Name)
		said.Notes = append(said.Notes, r.Figure.Name+": "+r.Size.String())
		said.Notes = append(said.Notes, r.Notes...)
	}
	return rows, said
}

func (m measuredFigures) writeTable(w io.Writer) error {
	for i, r := range m {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := r.WriteTable(w); err != nil {
			return err
		}
	}
	return nil
}

func (m measuredFigures) pictures() (all []picture) {
	for _, r := range m {
		p := &r.Figure
		for i, f := range r.Pictures() {
			all = append(all, picture{
				ID: fmt.Sprintf("%s-%d", p.Name, i+1), Title: fmt.Sprintf("%s, %s: %s", shortPaper(p.Paper), p.Number, p.Shows[i].Name), Figure: f,
				About: strings.ToUpper(p.Title[:1]) + p.Title[1:] + ". Found there: " + p.Found + " Here: " + p.Ours,
			})
		}
	}
	return all
}
