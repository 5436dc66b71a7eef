package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/kvl/load"
)

// loadFlags are the flags of load.
type loadFlags struct {
	mapping, dangling string
	show              bool
}

func newLoadCmd(a *app) *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load SOURCE",
		Short: "Load items with links from a database or a file, and say what they are",
		Long: `Load items with links from a database or a file, and say what they are: how many
rows, items and links, how many bytes, how long it took, and which references lead
to rows that are not there. Nothing is served or kept: it is what a server would
hold.

Sources are postgres://user@host/database; files of SQLite (*.db, *.sqlite, sqlite:PATH);
JSON Lines with an item on each line (*.jsonl, jsonl:PATH); and edge lists with two
keys on each line (*.csv, *.tsv, csv:PATH).

Without a mapping the tables of a database become items, primary keys their keys, and
foreign keys links, with lists of links back. --show-mapping prints that as a file, to
be changed and given to --mapping.

Exit codes: 0 success, 1 failure, dangling references among them unless --dangling
says otherwise, 2 wrong usage, which a mistake in a mapping is.`,
		Example: `  remora load university.db
  remora load university.db --show-mapping > mapping.json
  remora load university.db --mapping mapping.json --dangling null
  remora load 'postgres://app@db1/shop' --json
  remora load followers.csv`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("%s needs one source, but was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return asUsage(f.run(cmd.Context(), a, args[0])) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.mapping, "mapping", "", "`FILE` that says what becomes of tables and columns")
	fl.StringVar(&f.dangling, "dangling", kvl.Fail.String(), "what becomes of references to rows that are not there: `fail`, drop (no attribute) or null (a link to nowhere)")
	fl.BoolVar(&f.show, "show-mapping", false, "print the mapping, completed, and load nothing")
	_ = cmd.RegisterFlagCompletionFunc("dangling", cobra.FixedCompletions([]string{"fail", "drop", "null"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// asUsage tells mistakes of who wrote the command line or the mapping from failures.
func asUsage(err error) error {
	var mapping *load.MappingError
	if errors.As(err, &mapping) || errors.Is(err, load.ErrSource) || errors.Is(err, keli.ErrInvalid) {
		return usageError{err}
	}
	return err
}

func (f *loadFlags) run(ctx context.Context, a *app, source string) error {
	dangling, err := kvl.ParseDangling(f.dangling)
	if err != nil {
		return misuse("--dangling %q: use fail, drop or null", f.dangling)
	}
	var mapping *load.Mapping
	if f.mapping != "" {
		if mapping, err = load.ReadMapping(f.mapping); err != nil {
			return err
		}
	}
	src, err := load.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	if f.show {
		return a.showMapping(ctx, src, mapping)
	}
	return a.load(ctx, src, mapping, dangling)
}

func (a *app) showMapping(ctx context.Context, src load.Source, mapping *load.Mapping) error {
	whole, notes, err := src.Mapping(ctx, mapping)
	if err != nil {
		return err
	}
	for _, note := range notes {
		_, _ = fmt.Fprintf(a.err, "remora: note: %s\n", note)
	}
	_, err = a.out.Write(whole.JSON())
	return err
}

// loadResult is what a load says, in JSON.
type loadResult struct {
	Source   string        `json:"source"`
	Report   load.Report   `json:"report"`
	Stats    loadStats     `json:"image"`
	Dangled  []dangledLine `json:"dangled,omitempty"`
	Read     float64       `json:"read_s"`
	Seal     float64       `json:"seal_s"`
	RowsPerS float64       `json:"rows_per_s"`
}

// loadStats are those of the image.
type loadStats struct {
	Items    int64 `json:"items"`
	Links    int64 `json:"links"`
	Nowhere  int64 `json:"nowhere"`
	Lists    int64 `json:"lists"`
	Chunks   int64 `json:"chunks"`
	Bytes    int64 `json:"bytes"`
	Areas    int   `json:"areas"`
	Dangling int64 `json:"dangling"`
}

// dangledLine is a reference to a row that is not there.
type dangledLine struct {
	Type string `json:"type"`
	Key  string `json:"key"`
	Attr string `json:"attribute"`
	To   string `json:"to"`
}

// load builds an image of a source and reports it, also if it fails because of what dangles.
func (a *app) load(ctx context.Context, src load.Source, mapping *load.Mapping, dangling kvl.Dangling) error {
	b, err := kvl.NewBuilder(kvl.Config{Generation: 1, Dangling: dangling})
	if err != nil {
		return err
	}
	defer b.Close()
	bar := newLoadBar(a.err)
	defer bar.clear()
	start := time.Now()
	report, err := load.Load(ctx, src, mapping, b, bar.show)
	if err != nil {
		return err
	}
	read := time.Since(start)
	bar.sealing()
	image, failed := b.Seal(ctx)
	if image != nil {
		defer image.Close()
	}
	if failed != nil && !errors.Is(failed, kvl.ErrDangling) {
		return failed
	}
	took := time.Since(start)
	r := newLoadResult(src, report, b.Stats(), read, took)
	bar.clear()
	return errors.Join(a.writeLoad(r, took), danglingAdvice(failed))
}

// danglingAdvice says what to do next.
func danglingAdvice(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; mend the data, or load without them: --dangling drop or null", err)
}

func newLoadResult(src load.Source, report load.Report, s kvl.Stats, read, took time.Duration) *loadResult {
	r := &loadResult{Source: src.String(), Report: report, Read: read.Seconds(), Seal: (took - read).Seconds(), Stats: loadStats{
		Items: s.Items, Links: s.Links, Nowhere: s.Nowhere, Lists: s.Lists, Chunks: s.Chunks, Bytes: s.Bytes, Areas: s.Areas, Dangling: s.Dangling,
	}}
	r.RowsPerS = float64(report.Rows) / took.Seconds()
	for _, d := range s.Dangled {
		r.Dangled = append(r.Dangled, dangledLine{d.FromType, d.FromKey, d.Attr, d.To})
	}
	return r
}

func (a *app) writeLoad(r *loadResult, took time.Duration) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(r)
	}
	return r.writeText(a.out, took)
}

// shownDangling is how many dangling references are printed; --json has a hundred.
const shownDangling = 10

func (r *loadResult) writeText(w io.Writer, took time.Duration) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "table\ttype\trows\tlinks\n")
	for _, table := range r.Report.Tables {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\n", table.Table, table.Type, table.Rows, table.Links)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	s := &r.Stats
	fmt.Fprintf(&b, "\n%d items and %d links in %s", s.Items, s.Links, bytesText(s.Bytes))
	fmt.Fprintf(&b, ", %d lists, %d chunks, %d areas\n", s.Lists, s.Chunks, s.Areas)
	fmt.Fprintf(&b, "%v: %.2f s reading, %.2f s making the image, %.0f rows/s\n", took.Round(time.Millisecond), r.Read, r.Seal, r.RowsPerS)
	for _, note := range r.Report.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if s.Dangling > 0 {
		fmt.Fprintf(&b, "%d references lead to what is not there:\n", s.Dangling)
	}
	for i, d := range r.Dangled {
		if i == shownDangling {
			fmt.Fprintf(&b, "  ... and %d more\n", s.Dangling-shownDangling)
			break
		}
		fmt.Fprintf(&b, "  %s %s: %s -> %s\n", d.Type, d.Key, d.Attr, d.To)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
