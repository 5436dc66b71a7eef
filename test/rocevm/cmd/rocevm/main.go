// Command rocevm runs programs and tests on real kernel verbs (Soft-RoCE) in
// small virtual machines. Package test/rocevm says how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `rocevm runs programs on kernel verbs (Soft-RoCE) in small virtual machines.

  rocevm run  [flags] -- command...                    in one guest
  rocevm run  -guests 2 [flags] -server CMD -client CMD  in two guests on a wire
  rocevm test [flags] package...                       compile tests here, run them in a guest
  rocevm probe [flags]                                 say what the guest's kernel can do
  rocevm scenario [-guests 2] [flags] [name...]        perftest, faults between two guests, remora itself
  rocevm results [flags] [FILE.md]                     measure what docs/results shows of verbs

rocevm COMMAND -h lists the flags. script/deps rdma installs what the host needs.
`

// exitUsage is the status for a wrong command line, and for a harness that could
// not do its work: never that of the program under test.
const exitUsage = 2

func main() { os.Exit(start()) }

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// verb is one command; its result is the exit status.
type verb func(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error)

var verbs = map[string]verb{
	"run":      runVerb,
	"test":     testVerb,
	"probe":    probeVerb,
	"scenario": scenarioVerb,
	"results":  resultsVerb,
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "help" {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	if verbs[args[0]] == nil {
		fmt.Fprintf(stderr, "rocevm: no command %q; there are %s\n", args[0], verbNames())
		return exitUsage
	}
	status, err := verbs[args[0]](ctx, args[1:], stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	return status
}
