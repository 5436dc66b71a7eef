package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// app is what every command gets: where to read and write, and the flags that
// all of them have.
type app struct {
	in       io.Reader
	out, err io.Writer
	json     bool     // one JSON object per line on out, and nothing else
	args     []string // of the command line, without the name of the program
}

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// misuse makes a usageError.
func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut, args: args}
	root := newRootCmd(a)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	return a.fail(cmd, err)
}

// fail reports an error and returns the exit code for it.
func (a *app) fail(cmd *cobra.Command, err error) int {
	var wrong usageError
	switch {
	case errors.As(err, &wrong):
		_, _ = fmt.Fprintf(a.err, "remora: %v\nTry '%s --help'.\n", err, cmd.CommandPath())
		return exitUsage
	case errors.Is(err, context.Canceled):
		_, _ = fmt.Fprintln(a.err, "remora: stopped")
		return exitFailure
	}
	_, _ = fmt.Fprintf(a.err, "remora: %s\n", strings.TrimPrefix(err.Error(), "remora: "))
	return exitCode(err)
}

func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "remora",
		Short: "A key-value cache and an RPC library for RDMA networks",
		Long: `Remora is an in-memory key-value cache and an RPC library for RDMA networks.
The same code runs over shared memory, TCP and RDMA verbs.

Exit codes: 0 success, 1 failure, 2 wrong usage; those of get, set and other
commands that talk to a server stand in their help.`,
		Example: `  remora serve                   run the cache, for this user
  remora set greeting hello      store a value
  remora get greeting            and print it
  remora doctor                  what this machine can use
  remora perf                    measure everything over shared memory
  remora perf read --size 64     latency of an RDMA READ
  remora version`,
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON object per line and nothing else")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newServeCmd(a),
		newGetCmd(a),
		newSetCmd(a),
		newDelCmd(a),
		newIncrCmd(a),
		newTouchCmd(a),
		newItemCmd(a),
		newReloadCmd(a),
		newStatsCmd(a),
		newPingCmd(a),
		newPerfCmd(a),
		newPerfServerCmd(a),
		newBenchCmd(a),
		newLoadCmd(a),
		newTuneCmd(a),
		newDoctorCmd(a),
		newVersionCmd(a),
	)
	return root
}

// unknownCommand refuses arguments of the root command, which are commands
// that do not exist.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return misuse("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return misuse("unknown command %q", args[0])
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) != 0 {
		return misuse("%s takes no arguments, but was given %q", cmd.CommandPath(), args[0])
	}
	return nil
}
