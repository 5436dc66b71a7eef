package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/report"
)

// reportFlag writes the rows of a benchmark of the cache as a page.
type reportFlag struct {
	dir string
	cmd *cobra.Command
}

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

// write writes the rows measured before err, if it is not nil, and prints where.
func (f *reportFlag) write(a *app, r *cache.Report, err error) error {
	if f.dir == "" || len(r.Rows) == 0 {
		return nil
	}
	page := report.Report{
		Title: f.cmd.CommandPath(), Command: append([]string{f.cmd.Root().Name()}, a.args...),
		Version: programVersion(), When: time.Now(), Machine: bench.Machine(),
		Rows: r.Rows, Remarks: r.Remarks,
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
