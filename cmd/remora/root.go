package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl/keli"
)

// The exit codes, so that scripts can tell what happened.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitCondition   = 4
	exitUnavailable = 5 // the operation certainly did not happen
	exitUnknown     = 6 // the operation may have happened
	exitSignal      = 128
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
	return a.fail(ctx, cmd, err)
}

// fail reports an error and returns the exit code for it.
func (a *app) fail(ctx context.Context, cmd *cobra.Command, err error) int {
	code, message := exitCode(err), withoutName(err)
	switch {
	case code == exitUsage:
		message += fmt.Sprintf("\nTry '%s --help'.", cmd.CommandPath())
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		if code != exitUnknown {
			message = "interrupted"
		}
		code = exitSignal + int(syscall.SIGINT)
		if s := (stopped{}); errors.As(context.Cause(ctx), &s) && s.signal == syscall.SIGTERM {
			code = exitSignal + int(syscall.SIGTERM)
		}
	}
	_, _ = fmt.Fprintf(a.err, "remora: %s\n", message)
	return code
}

// withoutName is the text of an error without the name of the package in front,
// which is that of the program.
func withoutName(err error) string {
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "remora: "), "keli: ")
}

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var wrong usageError
	switch {
	case errors.As(err, &wrong), errors.Is(err, remora.ErrInvalid), errors.Is(err, keli.ErrInvalid), errors.Is(err, fabric.ErrInvalid):
		return exitUsage
	case errors.Is(err, remora.ErrUnknown):
		return exitUnknown
	case errors.Is(err, remora.ErrUnavailable), errors.Is(err, keli.ErrUnavailable):
		return exitUnavailable
	case errors.Is(err, remora.ErrExists), errors.Is(err, remora.ErrChanged):
		return exitCondition
	case errors.Is(err, remora.ErrNotFound), errors.Is(err, keli.ErrNotFound):
		return exitNotFound
	}
	return exitFailure
}

// The groups of commands in the help.
const (
	groupCache   = "cache"
	groupItems   = "items"
	groupMeasure = "measure"
	groupHost    = "host"
)

func newRootCmd(a *app) *cobra.Command {
	showVersion := false
	root := newGroup(&cobra.Command{
		Use:   "remora COMMAND",
		Short: "A key-value cache and an RPC library for RDMA networks",
		Long: `Remora is an in-memory key-value cache and an RPC library for RDMA networks.
The same code runs over shared memory, TCP and RDMA verbs.

Exit codes:
    0  success
    1  failure
    2  wrong usage
    3  no such item
    4  the condition of set (--add, --cas) does not hold
    5  server unavailable: the operation certainly did not happen
    6  connection lost: the operation may have happened
  130  interrupted (Ctrl-C); 143 by SIGTERM`,
		Example: `  remora serve                   run the cache, for this user
  remora set greeting hello      store a value
  remora get greeting            print it
  remora doctor                  show what this machine can use
  remora bench compare --quick   measure it against memcached and Redis`,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if showVersion {
			return a.printVersion()
		}
		return help(cmd, args)
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON object per line and nothing else")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.SetUsageFunc(a.usage)
	cobra.EnableCommandSorting = false // they are in the order of their use
	addGroup(root, groupCache, "Cache", newServeCmd(a), newGetCmd(a), newSetCmd(a), newDelCmd(a), newIncrCmd(a), newTouchCmd(a), newStatsCmd(a), newPingCmd(a))
	addGroup(root, groupItems, "Items with links", newKVLCmd(a))
	addGroup(root, groupMeasure, "Benchmarks", newBenchCmd(a))
	addGroup(root, groupHost, "This machine", newDoctorCmd(a), newTuneCmd(a), newVersionCmd(a))
	return root
}

// addGroup adds commands under a heading of the help.
func addGroup(parent *cobra.Command, id, title string, commands ...*cobra.Command) {
	parent.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
		parent.AddCommand(cmd)
	}
}

// newGroup completes a command that only has others below it.
func newGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SuggestionsMinimumDistance = 2
	cmd.DisableFlagsInUseLine = true
	return cmd
}

// unknownCommand refuses arguments of a group, which are commands that do not exist.
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
