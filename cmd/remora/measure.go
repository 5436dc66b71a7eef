package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/remora-kv/remora/bench"
)

// outcome is the result of a benchmark of any kind.
type outcome struct {
	rows       int
	remarks    *bench.Remarks
	writeTable func(io.Writer) error
	noTable    bool // standard output has something else
}

// remark prints what a report says of itself, beside rows for programs.
func (a *app) remark(r *bench.Remarks) {
	if v := r.Verdict(); v != "" {
		_, _ = fmt.Fprintf(a.err, "remora: %s\n", v)
	}
	for _, w := range r.Warnings {
		_, _ = fmt.Fprintf(a.err, "remora: warning: %s\n", w)
	}
}

// finish writes the rows, also of a run that ended early, and turns err into an error for
// the user.
func (a *app) finish(ctx context.Context, err error, o outcome) error {
	if o.remarks != nil && (a.json || o.noTable) {
		a.remark(o.remarks)
	}
	if !a.json && !o.noTable && o.rows > 0 {
		if werr := o.writeTable(a.out); werr != nil {
			return werr
		}
	}
	if ctx.Err() != nil {
		return context.Canceled
	}
	if errors.Is(err, bench.ErrUsage) { // of all benchmarks
		return usageError{err}
	}
	return err
}
