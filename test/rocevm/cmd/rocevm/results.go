package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/test/rocevm"
)

// The lines between which results are written; what is around them stays.
const (
	resultsBegin = "<!-- rocevm results: begin -->"
	resultsEnd   = "<!-- rocevm results: end -->"
)

// verbsPackage has the benchmarks of posts and polls.
const verbsPackage = "github.com/remora-kv/remora/fabric/verbs"

// costBenchmarks are those of fabric/verbs/cost_test.go.
const costBenchmarks = "^Benchmark(Call|Post|Poll|Ring|Adapter)"

// resultsFlags are those of results alone.
type resultsFlags struct {
	*common
	rounds, ops, count int
	only               string
	file               string
}

// resultsVerb measures what docs/results shows of verbs and writes it into a
// file: posts and polls through cgo, ours against perftest in one guest by
// instructions and by time, all tests of verbs between two.
func resultsVerb(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags, c := newFlags("results", stderr)
	r := &resultsFlags{common: c}
	flags.IntVar(&r.rounds, "rounds", 7, "how often each program of the comparison runs")
	flags.IntVar(&r.ops, "ops", 1000, "operations of each run of the comparison")
	flags.IntVar(&r.count, "count", 5, "how often each benchmark runs")
	flags.StringVar(&r.only, "only", "cost,instructions,latency,suite", "which parts to measure")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if flags.NArg() > 1 || r.rounds < 1 || r.ops < 1 || r.count < 1 {
		return exitUsage, errors.New("rocevm: results [flags] [FILE.md]; rounds, ops and count are at least 1")
	}
	r.file = flags.Arg(0)
	text, err := r.measure(ctx, stderr)
	if err != nil {
		return exitUsage, err
	}
	if r.file == "" {
		_, err = io.WriteString(stdout, text)
	} else {
		err = writeBetween(r.file, text)
	}
	if err != nil {
		return exitUsage, err
	}
	return 0, nil
}

// measure does the parts that were asked for, in one boot each.
func (r *resultsFlags) measure(ctx context.Context, stderr io.Writer) (string, error) {
	parts := map[string]func(context.Context, io.Writer) (string, error){
		"cost": r.cost, "instructions": r.instructions, "latency": r.latency, "suite": r.suite,
	}
	before := loadAverage()
	var b strings.Builder
	for name := range strings.SplitSeq(r.only, ",") {
		part := parts[name]
		if part == nil {
			return "", fmt.Errorf("rocevm: results: no part %q; there are cost, instructions, latency, suite", name)
		}
		text, err := part(ctx, stderr)
		if err != nil {
			return "", fmt.Errorf("rocevm: results: %s: %w", name, err)
		}
		b.WriteString(text)
	}
	fmt.Fprintf(&b, "## Machine\n\n- %s, %d CPUs, Linux %s, %s\n- load average before and after: %s and %s\n",
		processor(), runtime.NumCPU(), kernelRelease(), runtime.Version(), before, loadAverage())
	fmt.Fprintf(&b, "- written by `rocevm results -rounds %d -ops %d -count %d -only %s FILE`\n", r.rounds, r.ops, r.count, r.only)
	return b.String(), nil
}

// cost runs the benchmarks here and in a guest.
func (r *resultsFlags) cost(ctx context.Context, stderr io.Writer) (string, error) {
	dir, err := rocevm.TempDir()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	o := rocevm.TestOptions{Tags: "rdma", Args: []string{
		"-test.run=^$", "-test.bench=" + costBenchmarks, "-test.benchtime=300ms", "-test.count=" + strconv.Itoa(r.count),
	}}
	binaries, err := rocevm.CompileTests(ctx, dir, o, verbsPackage)
	if err != nil {
		return "", err
	}
	native, err := exec.CommandContext(ctx, binaries[0].Files()[0].Host, o.Args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("benchmarks on this host: %w\n%s", err, native)
	}
	r.config.Guests = 1
	cluster, err := r.boot(ctx, stderr, binaries[0].Files()...)
	if err != nil {
		return "", err
	}
	defer cluster.Close()
	ctx, cancel := r.deadline(ctx)
	defer cancel()
	result, err := cluster.Server().Run(ctx, binaries[0].Command(o, r.timeout))
	if err == nil {
		err = result.Err()
	}
	if err != nil {
		return "", fmt.Errorf("benchmarks in the guest: %w\n%s", err, result.Output)
	}
	here, there := rocevm.ParseBenchmarks(string(native)), rocevm.ParseBenchmarks(result.Output)
	table := rocevm.CostTable(names(result.Output), []string{"this host", "guest (" + string(cluster.Accel) + ")"}, []rocevm.Costs{here, there})
	return "## Posts and polls through cgo\n\nMedians of " + strconv.Itoa(r.count) + " runs, for each request or completion.\n\n" + table + "\n", nil
}

var benchmarkName = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d`)

// names lists the benchmarks in the order in which they ran.
func names(text string) []string {
	var out []string
	for _, m := range benchmarkName.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// instructions compares ours with perftest in a guest that counts them.
func (r *resultsFlags) instructions(ctx context.Context, stderr io.Writer) (string, error) {
	accel := r.accel
	defer func() { r.accel = accel }()
	r.accel = string(rocevm.AccelCount)
	ops, rounds := max(r.ops, rocevm.CountOps), min(r.rounds, 3) // they are all alike
	samples, err := r.compare(ctx, stderr, rocevm.CountContests(ops), rounds)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("## Against perftest, in instructions\n\nOne guest with one CPU whose clock counts instructions, of programs and kernel alike; medians of %d rounds with\n"+
		"%d operations each.\n\n", rounds, ops) + rocevm.CountTable(samples) + "\n```\n" + rocevm.ContestCommands(samples) + "```\n\n", nil
}

// latency compares ours with perftest in one guest.
func (r *resultsFlags) latency(ctx context.Context, stderr io.Writer) (string, error) {
	samples, err := r.compare(ctx, stderr, rocevm.Contests(r.ops), r.rounds)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("## Against perftest, in one guest\n\n%d rounds, in each of which every program ran once with %d operations; medians of the rounds.\n"+
		"Ours pins client and server to CPUs 0 and 1; perftest ran as the kernel schedules it, just before ours, and\n"+
		"pinned to the same, just after. The ratio is the median of the ratios of the rounds, to that one of these two to\nwhich it is larger.\n\n",
		r.rounds, r.ops) + rocevm.ContestTable(samples) + "\n```\n" + rocevm.ContestCommands(samples) + "```\n\n", nil
}

func (r *resultsFlags) compare(ctx context.Context, stderr io.Writer, contests []rocevm.Contest, rounds int) (samples []rocevm.Sample, err error) {
	err = r.inGuests(ctx, stderr, 1, func(ctx context.Context, c *rocevm.Cluster) (err error) {
		samples, err = c.Compare(ctx, io.Discard, contests, rounds)
		return err
	})
	return samples, err
}

// suite runs all tests of verbs between two guests.
func (r *resultsFlags) suite(ctx context.Context, stderr io.Writer) (string, error) {
	var rows []rocevm.VerbsRow
	err := r.inGuests(ctx, stderr, 2, func(ctx context.Context, c *rocevm.Cluster) (err error) {
		rows, err = c.VerbsSuite(ctx, io.Discard)
		return err
	})
	if err != nil {
		return "", err
	}
	return "## Every test, between two guests\n\nOne CPU each, emulated, on a wire; adaptive waiting.\n\n" + rocevm.VerbsTable(rows) + "\n", nil
}

// inGuests boots guests with our program and calls f.
func (r *resultsFlags) inGuests(ctx context.Context, stderr io.Writer, guests int, f func(context.Context, *rocevm.Cluster) error) error {
	files, cleanup, err := compilePrograms(ctx, true)
	if err != nil {
		return err
	}
	defer cleanup()
	r.config.Guests = guests
	cluster, err := r.boot(ctx, stderr, files...)
	if err != nil {
		return err
	}
	defer cluster.Close()
	ctx, cancel := r.deadline(ctx)
	defer cancel()
	return f(ctx, cluster)
}

// writeBetween replaces what is between the two lines of a file, or makes the
// file.
func writeBetween(name, text string) error {
	old, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(old) == 0 {
		old = []byte(resultsBegin + "\n" + resultsEnd + "\n")
	}
	before, rest, found := bytes.Cut(old, []byte(resultsBegin+"\n"))
	_, after, closed := bytes.Cut(rest, []byte(resultsEnd+"\n"))
	if !found || !closed {
		return fmt.Errorf("rocevm: %s has no lines %q and %q to write between", name, resultsBegin, resultsEnd)
	}
	all := slices.Concat(before, []byte(resultsBegin+"\n\n"+text+"\n"+resultsEnd+"\n"), after)
	return os.WriteFile(name, all, 0o644)
}

func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // without it the name is unknown
	if m := modelName.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return "unknown processor"
}

func kernelRelease() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}
