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
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/kvl/load"
)

// sourceFlags are the flags of kvl commands that load a source.
type sourceFlags struct {
	mapping, dangling string
}

func (f *sourceFlags) define(fl *pflag.FlagSet) {
	fl.StringVar(&f.mapping, "mapping", "", "`FILE` that maps tables and columns to items and links")
	choose(fl, &f.dangling, "dangling", kvl.Fail.String(), "references to missing rows: fail, drop the attribute, or store a null link", "fail", "drop", "null")
}

// open opens the source and reads the mapping.
func (f *sourceFlags) open(source string) (src load.Source, mapping *load.Mapping, dangling kvl.Dangling, err error) {
	if dangling, err = kvl.ParseDangling(f.dangling); err != nil {
		return nil, nil, dangling, err
	}
	if f.mapping != "" {
		if mapping, err = load.ReadMapping(f.mapping); err != nil {
			return nil, nil, dangling, asUsage(err)
		}
	}
	src, err = load.Open(source)
	return src, mapping, dangling, asUsage(err)
}

func newKVLCheckCmd(a *app) *cobra.Command {
	var f sourceFlags
	show := false
	cmd := &cobra.Command{
		Use:   "check SOURCE",
		Short: "Load a source once and report what a server would hold",
		Long: `Load a database or a file once and report what a server would hold: rows, items,
links, bytes, time, and references to missing rows. Nothing is served or kept.

A SOURCE is one of
  postgres://user@host/database
  shop.db, shop.sqlite or sqlite:PATH       SQLite
  items.jsonl or jsonl:PATH                 JSON Lines, one item per line
  edges.csv, edges.tsv or csv:PATH          an edge list, two keys per line

Without a mapping every table becomes a type of items: primary keys become keys,
foreign keys become links, with lists of links in the other direction. --show-mapping
prints this mapping as a file, to change and pass to --mapping.`,
		Example: `  remora kvl check university.db
  remora kvl check university.db --show-mapping > mapping.json
  remora kvl check university.db --mapping mapping.json --dangling null
  remora kvl check postgres://app@db1/shop --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("%s needs one source, but was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(exclusive(cmd, "show-mapping", "dangling"), exclusive(cmd, "show-mapping", "json")); err != nil {
				return err
			}
			src, mapping, dangling, err := f.open(args[0])
			if err != nil {
				return err
			}
			defer src.Close()
			if show {
				return asUsage(a.showMapping(cmd.Context(), src, mapping))
			}
			return asUsage(a.load(cmd.Context(), src, mapping, dangling))
		},
	}
	f.define(cmd.Flags())
	cmd.Flags().BoolVar(&show, "show-mapping", false, "print the complete mapping and load nothing")
	complete(cmd)
	return cmd
}

// asUsage tells mistakes in the command line or the mapping from failures.
func asUsage(err error) error {
	var mapping *load.MappingError
	if errors.As(err, &mapping) || errors.Is(err, load.ErrSource) || errors.Is(err, keli.ErrInvalid) {
		return usageError{err}
	}
	return err
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

// loadResult is the report of a load, in JSON.
type loadResult struct {
	Source   string        `json:"source"`
	Report   load.Report   `json:"report"`
	Stats    loadStats     `json:"image"`
	Dangled  []dangledLine `json:"dangled,omitempty"`
	Read     float64       `json:"read_s"`
	Seal     float64       `json:"seal_s"`
	RowsPerS float64       `json:"rows_per_s"`
}

// loadStats describe the image.
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

// dangledLine is a reference to a missing row.
type dangledLine struct {
	Type string `json:"type"`
	Key  string `json:"key"`
	Attr string `json:"attribute"`
	To   string `json:"to"`
}

// load builds an image of a source and reports it, also if it fails because of dangling
// references.
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
	return fmt.Errorf("%w\nRepair the data, or load without these references: --dangling drop or null", err)
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
	fmt.Fprintf(&b, "%v: %.2f s reading, %.2f s building the image, %.0f rows/s\n", took.Round(time.Millisecond), r.Read, r.Seal, r.RowsPerS)
	for _, note := range r.Report.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	if s.Dangling > 0 {
		fmt.Fprintf(&b, "%d references to missing rows:\n", s.Dangling)
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
