package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/test/rocevm"
)

// scenarioVerb runs named scenarios, all in one boot. Those with the tools of
// rdma-core and perftest show that guests, wire and faults are sound, before our
// own program is blamed.
func scenarioVerb(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags, c := newFlags("scenario", stderr)
	verbose := flags.Bool("v", false, "print the output of the tools")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	names := flags.Args()
	if len(names) == 0 {
		names = rocevm.ScenarioNames(c.config.Guests, rocevm.Accel(c.accel))
	}
	chosen := make([]rocevm.Scenario, 0, len(names))
	for _, name := range names {
		s, err := rocevm.FindScenario(name, c.config.Guests, rocevm.Accel(c.accel))
		if err != nil {
			return exitUsage, err
		}
		chosen = append(chosen, s)
	}
	ours := slices.ContainsFunc(chosen, func(s rocevm.Scenario) bool { return s.Remora })
	tools, cleanup, err := compilePrograms(ctx, ours)
	if err != nil {
		return exitUsage, err
	}
	defer cleanup()
	cluster, err := c.boot(ctx, stderr, tools...)
	if err != nil {
		return exitUsage, err
	}
	defer cluster.Close()
	bounded, cancel := c.deadline(ctx)
	defer cancel()
	output := io.Discard
	if *verbose {
		output = &lockedWriter{w: stdout}
	}
	err = runScenarios(bounded, cluster, chosen, stdout, output)
	return report(ctx, cluster, stderr, asStatus(err))
}

// runScenarios runs one after the other, also after a failure.
func runScenarios(ctx context.Context, cluster *rocevm.Cluster, chosen []rocevm.Scenario, stdout, output io.Writer) error {
	var errs []error
	for _, s := range chosen {
		start := time.Now()
		text, err := s.Run(ctx, cluster, output)
		if err != nil {
			err = fmt.Errorf("scenario %s: %w", s.Name, err)
			errs = append(errs, err)
			fmt.Fprintf(stdout, "FAIL %-19s %5.1f s  %v\n", s.Name, time.Since(start).Seconds(), err)
			continue
		}
		fmt.Fprintf(stdout, "ok   %-19s %5.1f s  %s\n", s.Name, time.Since(start).Seconds(), text)
	}
	return errors.Join(errs...)
}

// asStatus turns the failure of a scenario into that of a program under test.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	return &statusError{status: 1, text: err.Error()}
}

// verbNames lists the commands for the message about an unknown one.
func verbNames() string { return strings.Join(slices.Sorted(maps.Keys(verbs)), ", ") }
