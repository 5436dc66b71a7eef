package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/report"
)

// reportFlag writes the rows of a benchmark as a page.
type reportFlag struct {
	dir string
	cmd *cobra.Command
}

// picture is one of a page.
type picture = report.Picture

func (f *reportFlag) register(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringVar(&f.dir, "report", "", "write a page with charts that opens offline, figures and rows into `DIR`")
}

// prepare fails on a directory that cannot be written, before anything is measured.
func (f *reportFlag) prepare() error {
	if f.dir == "" {
		return nil
	}
	if err := report.Prepare(f.dir); err != nil {
		return usageError{fmt.Errorf("--report: %w", err)}
	}
	return nil
}

// writeReport writes the rows measured before err, if it is not nil, and prints where.
func writeReport[R any](a *app, f *reportFlag, rows []R, said *bench.Remarks, err error, pictures []picture) error {
	if f.dir == "" || len(rows) == 0 {
		return nil
	}
	page := report.Report[R]{
		Title: f.cmd.CommandPath(), Command: append([]string{f.cmd.Root().Name()}, a.args...),
		Version: programVersion(), When: time.Now(), Machine: bench.Machine(),
		Pictures: pictures, Rows: rows, Remarks: *said,
	}
	if err != nil {
		page.Failure = err.Error()
	}
	if err := page.Write(f.dir); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	name := filepath.Join(f.dir, report.IndexName)
	if wd, err := os.Getwd(); err == nil && !filepath.IsAbs(name) {
		name = filepath.Join(wd, name)
	}
	_, werr := fmt.Fprintf(a.err, "report: file://%s\n", name)
	return werr
}
