package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/remora-kv/remora/test/gotest"
)

// runner runs jobs, several at once, and reports each as it ends.
type runner struct {
	config  *config
	bin     string // directory of the binaries
	summary *summary

	mu     sync.Mutex // guards what follows
	out    io.Writer
	number int
}

func newRunner(c *config, out io.Writer) *runner {
	return &runner{config: c, out: out, summary: newSummary()}
}

// run runs every package under every pressure and says whether a test failed.
func (r *runner) run(ctx context.Context) (failed bool, err error) {
	r.bin, err = os.MkdirTemp("", "remora-tests-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(r.bin)
	logs, err := filepath.Abs(r.config.logs)
	if err != nil {
		return false, err
	}
	r.config.logs = logs
	for _, p := range r.config.pressures {
		if err = r.under(ctx, p); err != nil {
			break // say what was found until then
		}
	}
	r.summary.print(r.out, r.config)
	return r.summary.failed(), err
}

// under runs all rounds of one pressure.
func (r *runner) under(ctx context.Context, p pressure) error {
	options := gotest.Options{Tags: r.config.tags, Race: r.config.race || p.race}
	dir := filepath.Join(r.bin, p.name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binaries, err := gotest.List(ctx, dir, options, r.config.patterns...)
	if err != nil {
		return err
	}
	// Packages are compiled by the workers that run them first, while tests run.
	compile := make([]func() error, len(binaries))
	for i, b := range binaries {
		compile[i] = sync.OnceValue(func() error { return b.Compile(ctx, options) })
	}
	if p.busy {
		stop, err := startLoops(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	places := make(chan struct{}, r.config.jobsUnder(p))
	var jobs sync.WaitGroup
	for round := range r.config.rounds {
		for i, b := range binaries {
			places <- struct{}{}
			if ctx.Err() != nil {
				<-places
				break
			}
			jobs.Go(func() {
				defer func() { <-places }()
				r.one(ctx, b, compile[i], p, round)
			})
		}
	}
	jobs.Wait()
	return context.Cause(ctx)
}

// one runs a job and reports it. Its logs are kept if it failed.
func (r *runner) one(ctx context.Context, b *gotest.Binary, compile func() error, p pressure, round int) {
	j := &job{binary: b, pressure: p, round: round + 1, args: r.args(), timeout: time.Duration(p.slower) * r.config.timeout}
	r.mu.Lock()
	r.number++
	j.number = r.number
	r.mu.Unlock()
	kind := p.name
	if r.config.race {
		kind += "-race"
	}
	j.dir = filepath.Join(r.config.logs, fmt.Sprintf("%s-%02d-%s", kind, j.round, strings.TrimSuffix(filepath.Base(b.File), ".test")))
	_ = os.RemoveAll(j.dir) // from an earlier run
	if err := compile(); err != nil {
		j.err = err
	} else {
		j.run(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.add(j, r.config)
	j.print(r.out, r.config)
	if !j.failed() {
		_ = os.RemoveAll(j.dir)
	}
}

// args are those of the test binaries.
func (r *runner) args() []string {
	var args []string
	if r.config.run != "" {
		args = append(args, "-test.run="+r.config.run)
	}
	if r.config.skip != "" {
		args = append(args, "-test.skip="+r.config.skip)
	}
	return args
}
