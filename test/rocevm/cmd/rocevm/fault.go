package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/remora-kv/remora/test/rocevm"
)

// fault is a command that runs in a guest when a program says something.
type fault struct {
	watched string // name of the guest whose output is watched
	line    *regexp.Regexp
	guest   string // name of the guest in which the command runs
	command string
}

// parseFaults reads GUEST~REGEXP=>GUEST:COMMAND.
func parseFaults(texts []string, guests int) ([]fault, error) {
	names := "guest"
	if guests == 2 {
		names = "server client"
	}
	known := func(name string) bool { return name != "" && strings.Contains(" "+names+" ", " "+name+" ") }
	faults := make([]fault, 0, len(texts))
	for _, text := range texts {
		when, what, arrow := strings.Cut(text, "=>")
		watched, line, tilde := strings.Cut(when, "~")
		guest, command, colon := strings.Cut(what, ":")
		if !arrow || !tilde || !colon || !known(watched) || !known(guest) || command == "" {
			return nil, fmt.Errorf("rocevm: -at %q: write GUEST~REGEXP=>GUEST:COMMAND, with guests out of %s", text, names)
		}
		expression, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("rocevm: -at %q: %w", text, err)
		}
		faults = append(faults, fault{watched: watched, line: expression, guest: guest, command: command})
	}
	return faults, nil
}

// startFaults waits for the lines in the background. The result waits for all
// faults and fails if one did not happen: then the run has proved nothing.
func startFaults(ctx context.Context, faults []fault, cluster *rocevm.Cluster, programs map[string]*rocevm.Process, stdout io.Writer) (await func() error) {
	errs := make([]error, len(faults))
	var wg sync.WaitGroup
	for i, f := range faults {
		wg.Go(func() {
			if _, err := programs[f.watched].Await(ctx, f.line); err != nil {
				errs[i] = fmt.Errorf("rocevm: the fault %q did not happen: %w", f.command, err)
				return
			}
			for _, g := range cluster.Guests {
				if g.Name == f.guest {
					errs[i] = f.run(ctx, g, stdout)
				}
			}
		})
	}
	return func() error {
		wg.Wait()
		return errors.Join(errs...)
	}
}

func (f fault) run(ctx context.Context, g *rocevm.Guest, stdout io.Writer) error {
	out := rocevm.NewPrefixWriter(stdout, g.Name+" fault")
	defer out.Flush()
	c := rocevm.Shell(f.command)
	c.Output = out
	r, err := g.Run(ctx, c)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return fmt.Errorf("rocevm: fault in guest %s: %s: %w", g.Name, f.command, err)
	}
	return nil
}
