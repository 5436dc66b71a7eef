package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

// benchOutput are the flags that all benchmarks have for their output besides the table.
type benchOutput struct {
	csv     string
	summary bool
	strict  bool // warnings are a failure
	report  reportFlag
}

func (o *benchOutput) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.csv, "csv", "", "write all rows as CSV to `FILE`; - is standard output, instead of the table")
	cmd.Flags().BoolVar(&o.strict, "strict", false, "fail if there are warnings, after everything is written")
	o.report.register(cmd)
	section(cmd.Flags(), "Output", "csv", "strict", "report")
}

// registerSummary defines the flag of benchmarks with summaries.
func (o *benchOutput) registerSummary(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.summary, "summary", false, "with --json: also print a line per case with medians, means and intervals, after one of the remarks")
	section(cmd.Flags(), "Output", "summary")
}

// stdout is the name of standard output where a file is expected.
const stdout = "-"

// rowSink takes the rows of a benchmark as they are measured.
type rowSink[R any] struct {
	app  *app
	out  *benchOutput
	csv  *out.CSV[R] // nil: none
	file io.Closer
	more int // lines of the table besides those of rows
	bar  *progress
}

// openSink fails if a file cannot be written, before anything is measured.
func openSink[R any](a *app, o *benchOutput) (*rowSink[R], error) {
	s := &rowSink[R]{app: a, out: o, bar: newProgress(a.err)}
	if err := o.report.prepare(); err != nil {
		return nil, err
	}
	switch {
	case o.summary && !a.json:
		return nil, misuse("--summary has no effect without --json: the table has it with --trials")
	case o.csv == stdout && a.json:
		return nil, misuse("--json and --csv - both want standard output: give --csv a file")
	case o.csv == stdout:
		s.csv = out.NewCSV[R](a.out)
	case o.csv != "":
		f, err := os.Create(o.csv)
		if err != nil {
			return nil, fmt.Errorf("--csv: %w", err)
		}
		s.csv, s.file = out.NewCSV[R](f), f
	}
	return s, nil
}

// row takes one.
func (s *rowSink[R]) row(r R) error {
	if s.csv != nil {
		if err := s.csv.Write(r); err != nil {
			return fmt.Errorf("writing CSV: %w", err)
		}
	}
	if s.app.json {
		return json.NewEncoder(s.app.out).Encode(r)
	}
	return nil
}

// finish writes what comes after the rows, and turns err into an error for the user. Pictures
// are for the report.
func (s *rowSink[R]) finish(ctx context.Context, err error, rows []R, said *bench.Remarks, table func(io.Writer) error, pictures ...picture) error {
	s.bar.clear()
	if s.file != nil {
		if closed := s.file.Close(); err == nil {
			err = closed
		}
	}
	told := s.app.finish(ctx, err, outcome{
		rows: len(rows) + s.more, remarks: said, writeTable: table, noTable: s.out.csv == stdout,
	})
	werr := writeReport(s.app, &s.out.report, rows, said, err, pictures)
	switch {
	case told != nil:
		return told
	case werr != nil:
		return werr
	case s.out.strict && said.Verdict() != "":
		return fmt.Errorf("--strict: %s", said.Verdict())
	case s.out.strict && len(said.Warnings) != 0:
		return fmt.Errorf("--strict: %d warnings, the first: %s", len(said.Warnings), said.Warnings[0])
	}
	return nil
}
