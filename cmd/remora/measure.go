package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/remora-kv/remora/bench/perf"
)

// outcome is what a benchmark has measured, whichever it was.
type outcome struct {
	rows       int
	warnings   []string
	writeTable func(io.Writer) error
	noTable    bool // standard output has something else
}

// finish writes what was measured, also when it ended early, and says what err is
// to the user.
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
	if errors.Is(err, perf.ErrUsage) { // that of every benchmark
		return usageError{err}
	}
	return err
}

// serverArgv is the command line of the server process: this binary with args,
// unless the user has a command of their own.
func serverArgv(command string, args ...string) ([]string, error) {
	if command != "" {
		return []string{"/bin/sh", "-c", "exec " + command}, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is its own server: %w", err)
	}
	return append([]string{exe}, args...), nil
}
