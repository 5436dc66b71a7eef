package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/remora-kv/remora/test/gotest"
	"github.com/remora-kv/remora/test/rocevm"
)

// testFlags are those of test alone; the names are those of go test.
type testFlags struct {
	*common
	options  rocevm.TestOptions
	json     string
	probe    bool
	patterns []string
}

// passedOn are the flags of go test that go to the test binary as they are.
var passedOn = map[string]string{
	"run":       "regexp of the tests to run",
	"skip":      "regexp of the tests to leave out",
	"bench":     "regexp of the benchmarks to run",
	"benchtime": "time or count for each benchmark",
	"count":     "how often to run each test",
	"cpu":       "list of GOMAXPROCS values",
	"parallel":  "how many tests may run in parallel",
	"shuffle":   "off, on, or a seed",
}

func testVerb(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	t, err := parseTest(args, stderr)
	if err != nil {
		return exitUsage, err
	}
	dir, err := rocevm.TempDir()
	if err != nil {
		return exitUsage, err
	}
	defer os.RemoveAll(dir)
	binaries, err := rocevm.CompileTests(ctx, dir, t.options, t.patterns...)
	if err != nil {
		return exitUsage, err
	}
	jsonLog, closeLog, err := t.openLog()
	if err != nil {
		return exitUsage, err
	}
	defer closeLog()
	var files []rocevm.File
	for _, b := range binaries {
		files = append(files, b.Files()...)
	}
	if t.probe {
		tools, cleanup, err := compileTools(ctx)
		if err != nil {
			return exitUsage, err
		}
		defer cleanup()
		files = append(files, tools...)
	}
	cluster, err := t.boot(ctx, stderr, files...)
	if err != nil {
		return exitUsage, err
	}
	defer cluster.Close()
	if err := t.runProbe(ctx, cluster, stdout); err != nil {
		return report(ctx, cluster, stderr, err)
	}
	status := 0
	for _, b := range binaries {
		got, err := report(ctx, cluster, stderr, t.runBinary(ctx, cluster, b, stdout, jsonLog))
		if err != nil {
			return exitUsage, err
		}
		status = max(status, got)
	}
	return status, nil
}

// parseTest accepts flags before and behind the packages, as go test does.
// Arguments behind "--" go to the test binary.
func parseTest(args []string, stderr io.Writer) (*testFlags, error) {
	flags, c := newFlags("test", stderr)
	t := &testFlags{common: c}
	flags.StringVar(&t.options.Tags, "tags", "rdma", "build tags")
	flags.BoolVar(&t.options.Race, "race", false, "compile with the race detector")
	flags.StringVar(&t.json, "json", "", "write the events of go test -json to this file")
	flags.BoolVar(&t.probe, "probe", true, "probe the guest's verbs first; tests find the answers in the file that ROCEVM_PROBE names")
	short := flags.Bool("short", false, "tell long tests to be short")
	flags.Bool("v", true, "accepted as by go test: the output is always verbose")
	values := make(map[string]*string)
	for name, help := range passedOn {
		values[name] = flags.String(name, "", help)
	}
	args, own := cutDashes(args)
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		args = flags.Args()
		if len(args) > 0 {
			t.patterns = append(t.patterns, args[0])
			args = args[1:]
		}
	}
	if len(t.patterns) == 0 {
		return nil, errors.New("rocevm: say which packages to test: rocevm test [flags] ./fabric/verbs")
	}
	flags.Visit(func(f *flag.Flag) {
		if value := values[f.Name]; value != nil {
			t.options.Args = append(t.options.Args, "-test."+f.Name+"="+*value)
		}
	})
	if *short {
		t.options.Args = append(t.options.Args, "-test.short")
	}
	t.options.Args = append(t.options.Args, own...)
	return t, nil
}

func cutDashes(args []string) (before, after []string) {
	for i, a := range args {
		if a == "--" {
			return args[:i], args[i+1:]
		}
	}
	return args, nil
}

func (t *testFlags) openLog() (io.Writer, func(), error) {
	if t.json == "" {
		return nil, func() {}, nil
	}
	f, err := os.Create(t.json)
	if err != nil {
		return nil, nil, err
	}
	return f, func() { f.Close() }, nil
}

// runProbe says what the guests' kernel cannot do and tells the tests: what the
// probe passed, a test has no excuse to fail.
func (t *testFlags) runProbe(ctx context.Context, cluster *rocevm.Cluster, stdout io.Writer) error {
	if !t.probe {
		return nil
	}
	ctx, cancel := t.deadline(ctx)
	defer cancel()
	for _, g := range cluster.Guests {
		found, err := g.Probe(ctx)
		if err != nil {
			return err
		}
		missing := found.Missing()
		fmt.Fprintf(stdout, "probe: %d answers of %s, %d capabilities missing\n", len(found.Capabilities), g.Name, len(missing))
		for _, c := range missing {
			fmt.Fprintf(stdout, "probe: %v\n", c)
		}
	}
	t.env = append(t.env, "ROCEVM_PROBE="+rocevm.ProbeFile)
	return nil
}

// runBinary runs one test binary in all guests at once and prints a summary. In
// two guests, tests see from ROCEVM_GUEST which side they are.
func (t *testFlags) runBinary(ctx context.Context, cluster *rocevm.Cluster, b *rocevm.TestBinary, stdout, jsonLog io.Writer) error {
	ctx, cancel := t.deadline(ctx)
	defer cancel()
	locked := &lockedWriter{w: stdout}
	if jsonLog != nil {
		jsonLog = &lockedWriter{w: jsonLog}
	}
	errs := make([]error, len(cluster.Guests))
	var wg sync.WaitGroup
	for i, g := range cluster.Guests {
		wg.Go(func() { errs[i] = t.runIn(ctx, g, b, locked, jsonLog) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (t *testFlags) runIn(ctx context.Context, g *rocevm.Guest, b *rocevm.TestBinary, stdout, jsonLog io.Writer) error {
	events, err := gotest.NewLog(context.WithoutCancel(ctx), b.Package, jsonLog)
	if err != nil {
		return err
	}
	human := rocevm.NewPrefixWriter(stdout, g.Name)
	human.Edit = gotest.HumanLine
	command := b.Command(t.options, t.timeout)
	command.Env = t.env
	command.Output = io.MultiWriter(human, events)
	result, err := g.Run(ctx, command)
	human.Flush()
	tally, tallyErr := events.Finish()
	summarize(stdout, g.Name, b.Package, tally)
	if err := errors.Join(err, tallyErr); err != nil {
		return err
	}
	if err := result.Err(); err != nil {
		return &statusError{status: 1, text: fmt.Sprintf("guest %s: %s: %v", g.Name, b.Package, err)}
	}
	if !tally.Ended || !tally.OK {
		return &statusError{status: 1, text: fmt.Sprintf("guest %s: %s ended with status 0 but without a PASS of its own", g.Name, b.Package)}
	}
	return nil
}

func summarize(w io.Writer, guest, pkg string, tally gotest.Tally) {
	verdict := "ok  "
	if !tally.OK {
		verdict = "FAIL"
	}
	text := fmt.Sprintf("%s %s in %s: %d passed, %d failed, %d skipped, %.1f s\n", verdict, pkg, guest,
		len(tally.Passed), len(tally.Failed), len(tally.Skipped), tally.Elapsed)
	for _, each := range []struct {
		what  string
		names []string
	}{{"failed", tally.Failed}, {"never ended", tally.Unfinished}, {"skipped", tally.Skipped}} {
		if len(each.names) > 0 {
			text += "     " + each.what + ": " + strings.Join(each.names, " ") + "\n"
		}
	}
	fmt.Fprint(w, text)
}

// lockedWriter keeps the lines of several guests whole.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
