package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/cache"
)

// benchOutput are the flags for the output of bench besides the table: JSON, CSV, summaries
// and a page.
type benchOutput struct {
	csv     string
	summary bool
	strict  bool // warnings are a failure
	report  reportFlag
}

func (o *benchOutput) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.csv, "csv", "", "write all rows as CSV to `FILE`; - is standard output, instead of the table")
	cmd.Flags().BoolVar(&o.summary, "summary", false, "with --json: also print a line per case with mean, standard deviation and 95 % confidence")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "fail if there are warnings, after everything is written")
	o.report.register(cmd)
	section(cmd.Flags(), "Output", "csv", "summary", "strict", "report")
}

// stdout is the name of standard output where a file is expected.
const stdout = "-"

// rowSink takes rows as they are measured.
type rowSink struct {
	app  *app
	out  *benchOutput
	csv  *cache.CSV // nil: none
	file io.Closer
}

// open fails if a file cannot be written, before anything is measured. first are columns
// of the CSV before those of a row.
func (o *benchOutput) open(a *app, first ...string) (*rowSink, error) {
	s := &rowSink{app: a, out: o}
	if err := o.report.prepare(); err != nil {
		return nil, err
	}
	switch {
	case o.summary && !a.json:
		return nil, misuse("--summary has no effect without --json: the table has it with --trials")
	case o.csv == stdout && a.json:
		return nil, misuse("--json and --csv - both want standard output: give --csv a file")
	case o.csv == stdout:
		s.csv = cache.NewCSV(a.out, first...)
	case o.csv != "":
		f, err := os.Create(o.csv)
		if err != nil {
			return nil, fmt.Errorf("--csv: %w", err)
		}
		s.csv, s.file = cache.NewCSV(f, first...), f
	}
	return s, nil
}

// row takes one; first are the cells of the sink's own columns.
func (s *rowSink) row(r cache.Row, first ...string) error {
	if s.csv != nil {
		if err := s.csv.Write(r, first...); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	if s.app.json {
		return r.WriteJSON(s.app.out)
	}
	return nil
}

// finish writes what comes after the rows, and turns err into an error for the user.
func (s *rowSink) finish(ctx context.Context, err error, report *cache.Report, table func(io.Writer) error) error {
	if s.file != nil {
		if closed := s.file.Close(); err == nil {
			err = closed
		}
	}
	if s.out.summary {
		if werr := report.WriteJSON(s.app.out); werr != nil {
			return werr
		}
		for _, sum := range report.Summaries() {
			if werr := sum.WriteJSON(s.app.out); werr != nil {
				return werr
			}
		}
	}
	told := s.app.finish(ctx, err, outcome{
		rows: len(report.Rows), remarks: &report.Remarks, writeTable: table, noTable: s.out.csv == stdout,
	})
	werr := s.out.report.write(s.app, report, err)
	switch {
	case told != nil:
		return told
	case werr != nil:
		return werr
	case s.out.strict && report.Verdict() != "":
		return fmt.Errorf("--strict: %s", report.Verdict())
	case s.out.strict && len(report.Warnings) != 0:
		return fmt.Errorf("--strict: %d warnings, the first: %s", len(report.Warnings), report.Warnings[0])
	}
	return nil
}
