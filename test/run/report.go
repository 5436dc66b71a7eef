package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/test/gotest"
)

const (
	testLines  = 80  // of a test that failed
	crashLines = 400 // of a process that crashed or hung
)

// print reports a job that has ended: a line, and everything that helps if it
// failed.
func (j *job) print(w io.Writer, c *config) {
	verdict := "ok  "
	if j.failed() {
		verdict = "FAIL"
	}
	fmt.Fprintf(w, "%s %-7s %2d  %6.1f s  cpu %6.1f s  %s\n", verdict, j.pressure.name, j.round, j.elapsed.Seconds(), j.cpu.Seconds(), j.binary.Package)
	for _, p := range j.left {
		fmt.Fprintf(w, "     left behind: process %d, %s\n", p.pid, p.command)
	}
	if !j.failed() {
		return
	}
	if j.err != nil {
		fmt.Fprintf(w, "     %v\n", j.err)
	}
	fmt.Fprint(w, indent(j.hung))
	race := c.race // the pressure may bring its own
	names := j.tally.Names()
	if len(names) == 0 {
		names = []string{""} // the binary failed outside of tests
	}
	for _, name := range names {
		fmt.Fprintf(w, "--- %s\n%s", cmp.Or(name, "outside of tests"), indent(tail(humanLines(j.tally.Output[name]), testLines)))
		fmt.Fprintf(w, "    repeat: %s\n", j.repeat(name, race))
	}
	for _, text := range j.crashes() {
		fmt.Fprint(w, indent(head(text, crashLines)))
	}
	fmt.Fprintf(w, "    log: %s\n", j.log())
}

func humanLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(gotest.HumanLine(line))
	}
	return b.String()
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// tail returns the last n lines of a text, head the first.
func tail(text string, n int) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

func head(text string, n int) string {
	lines := slices.Collect(strings.Lines(text))
	if len(lines) > n {
		lines = append(lines[:n], "...\n")
	}
	return strings.Join(lines, "")
}

// timing is how long a test took.
type timing struct {
	pkg, test string
	seconds   float64
}

// summary is what all jobs did.
type summary struct {
	passed, failures, skipped int
	runs                      int
	cpu                       time.Duration
	failedTests               map[string]int // how often, by the command that repeats it
	skippedTests              map[string]bool
	times                     map[[2]string]float64 // the longest of each test
}

func newSummary() *summary {
	return &summary{failedTests: make(map[string]int), skippedTests: make(map[string]bool), times: make(map[[2]string]float64)}
}

func (s *summary) add(j *job, c *config) {
	s.runs++
	s.cpu += j.cpu
	s.passed += len(j.tally.Passed)
	s.skipped += len(j.tally.Skipped)
	for _, name := range j.tally.Skipped {
		s.skippedTests[j.binary.Package+" "+name] = true
	}
	for test, seconds := range j.tally.Times {
		if !strings.Contains(test, "/") {
			at := [2]string{j.binary.Package, test}
			s.times[at] = max(s.times[at], seconds)
		}
	}
	if !j.failed() {
		return
	}
	names := j.tally.Names()
	s.failures += max(1, len(names))
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		s.failedTests[j.repeat(name, c.race)]++
	}
}

func (s *summary) failed() bool { return s.failures > 0 }

// print ends with a line that counts tests as other runners do.
func (s *summary) print(w io.Writer, c *config) {
	if c.slowest > 0 {
		fmt.Fprintf(w, "\nslowest tests:\n")
		for _, t := range s.slowest(c.slowest) {
			fmt.Fprintf(w, "  %6.1f s  %s %s\n", t.seconds, t.pkg, t.test)
		}
	}
	for _, name := range sortedKeys(s.skippedTests) {
		fmt.Fprintf(w, "skipped: %s\n", name)
	}
	for _, repeat := range sortedKeys(s.failedTests) {
		fmt.Fprintf(w, "failed %d times: %s\n", s.failedTests[repeat], repeat)
	}
	if len(s.failedTests) > 0 {
		fmt.Fprintf(w, "logs of failures: %s\n", c.logs)
	}
	fmt.Fprintf(w, "%d runs of packages, %.0f s of CPU time\n", s.runs, s.cpu.Seconds())
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", s.passed, s.failures, s.skipped)
}

func (s *summary) slowest(n int) []timing {
	var all []timing
	for at, seconds := range s.times {
		all = append(all, timing{at[0], at[1], seconds})
	}
	slices.SortFunc(all, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	return all[:min(n, len(all))]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
