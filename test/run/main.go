package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

// config is the command line.
type config struct {
	race      bool
	tags      string
	run, skip string
	rounds    int
	jobs      int
	timeout   time.Duration
	logs      string
	slowest   int
	pressures []pressure
	patterns  []string
}

func main() { os.Exit(start()) }

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "run:", err)
		return exitUsage
	}
	failed, err := newRunner(c, os.Stdout).run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	if failed || err != nil {
		return exitFailed
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&c.race, "race", false, "compile with the race detector, under every pressure")
	f.StringVar(&c.tags, "tags", "", "build tags")
	f.StringVar(&c.run, "run", "", "run only the tests that match this regexp, as for go test")
	f.StringVar(&c.skip, "skip", "", "leave out the tests that match this regexp")
	f.IntVar(&c.rounds, "rounds", 1, "run each package this often under each pressure")
	f.IntVar(&c.jobs, "jobs", 0, "run this many packages at once (default: a CPU each, or four on a CPU under pressure)")
	f.DurationVar(&c.timeout, "timeout", 10*time.Minute, "time for one run of a package, more under pressure")
	f.StringVar(&c.logs, "logs", "bin/logs", "directory for the logs of failures")
	f.IntVar(&c.slowest, "slowest", 0, "list this many of the slowest tests at the end")
	names := f.String("pressure", "none", "comma-separated pressures: "+strings.Join(pressureNames(), ", "))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(*names, ",") {
		i := slices.IndexFunc(pressures, func(p pressure) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no pressure %q; there are %s", name, strings.Join(pressureNames(), ", "))
		}
		c.pressures = append(c.pressures, pressures[i])
	}
	if c.rounds < 1 || c.jobs < 0 || c.timeout <= 0 {
		return nil, errors.New("-rounds and -timeout must be positive, -jobs not negative")
	}
	c.patterns = f.Args()
	if len(c.patterns) == 0 {
		c.patterns = []string{"./..."}
	}
	return c, nil
}

// jobsUnder is how many packages run at once.
func (c *config) jobsUnder(p pressure) int {
	switch {
	case c.jobs > 0:
		return c.jobs
	case p.name == "none":
		return runtime.NumCPU()
	}
	return 4 * runtime.NumCPU()
}
