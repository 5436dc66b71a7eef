package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/remora-kv/remora/bench/perf"
)

// outcome is the result of a benchmark of any kind.
type outcome struct {
	rows       int
	warnings   []string
	writeTable func(io.Writer) error
	noTable    bool // standard output has something else
}

// finish writes the rows, also of a run that ended early, and turns err into an error for
// the user.
func (a *app) finish(ctx context.Context, err error, o outcome) error {
	if a.json || o.noTable {
		for _, w := range o.warnings {
			_, _ = fmt.Fprintf(a.err, "remora: warning: %s\n", w)
		}
	}
	if !a.json && !o.noTable && o.rows > 0 {
		if werr := o.writeTable(a.out); werr != nil {
			return werr
		}
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	if errors.Is(err, perf.ErrUsage) { // of all benchmarks
		return usageError{err}
	}
	return err
}
