package gotest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Tally is what the tests of one binary did.
type Tally struct {
	Passed, Failed, Skipped []string
	Unfinished              []string           // started and never ended: a panic, or a lost guest
	Ended                   bool               // the binary reported its own end
	OK                      bool               // and that it passed
	Elapsed                 float64            // seconds, as the binary says
	Times                   map[string]float64 // seconds of each test that ended
	Output                  map[string]string  // what the tests that are not Passed printed; that of no test has the name ""
}

// Names are the tests to look at when the binary has failed: those that failed or
// never ended, without the parents of others.
func (t *Tally) Names() []string {
	bad := slices.Concat(t.Failed, t.Unfinished)
	parent := func(name string) bool {
		return slices.ContainsFunc(bad, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	}
	return slices.DeleteFunc(slices.Clone(bad), parent)
}

// testEvent is a line of test2json.
type testEvent struct {
	Action  string
	Test    string
	Output  string
	Elapsed float64
}

// Log turns the output of a test binary into JSON events by the go tool and
// counts results from them. It must be closed by Finish.
type Log struct {
	stdin io.WriteCloser
	cmd   *exec.Cmd
	done  chan struct{}
	tally Tally
	open  map[string]bool
	order []string
	log   io.Writer
	err   error
}

// NewLog starts to convert the output of the tests of a package. Events are
// copied to log unless it is nil.
func NewLog(ctx context.Context, pkg string, log io.Writer) (*Log, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", "-p", pkg)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("gotest: go tool test2json: %w", err)
	}
	l := &Log{stdin: stdin, cmd: cmd, done: make(chan struct{}), open: make(map[string]bool), log: log}
	l.tally.Times, l.tally.Output = make(map[string]float64), make(map[string]string)
	go func() {
		defer close(l.done)
		l.err = l.read(stdout)
	}()
	return l, nil
}

// Write takes the output of a binary that runs with Flags.
func (l *Log) Write(p []byte) (int, error) { return l.stdin.Write(p) }

func (l *Log) read(events io.Reader) error {
	if l.log != nil {
		events = io.TeeReader(events, l.log)
	}
	decoder := json.NewDecoder(events)
	for {
		var e testEvent
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			_, _ = io.Copy(io.Discard, events) // the writer must not block
			return fmt.Errorf("gotest: output of test2json: %w", err)
		}
		l.count(e)
	}
}

func (l *Log) count(e testEvent) {
	var results *[]string
	switch e.Action {
	case "run":
		l.open[e.Test] = true
		l.order = append(l.order, e.Test)
		return
	case "output":
		l.tally.Output[e.Test] += e.Output
		return
	case "pass":
		results = &l.tally.Passed
		delete(l.tally.Output, e.Test)
	case "fail":
		results = &l.tally.Failed
	case "skip":
		results = &l.tally.Skipped
	default:
		return
	}
	if e.Test == "" {
		l.tally.Ended, l.tally.OK, l.tally.Elapsed = true, e.Action != "fail", e.Elapsed
		return
	}
	delete(l.open, e.Test)
	l.tally.Times[e.Test] = e.Elapsed
	*results = append(*results, e.Test)
}

// Finish says that the output is complete and returns the results.
func (l *Log) Finish() (Tally, error) {
	l.stdin.Close()
	<-l.done
	err := errors.Join(l.err, l.cmd.Wait())
	for _, name := range l.order {
		if l.open[name] {
			l.tally.Unfinished = append(l.tally.Unfinished, name)
		}
	}
	return l.tally, err
}

// testMark begins the lines of a test binary that test2json takes for its own.
const testMark = "\x16"

// HumanLine takes the marks meant for test2json out of a line of a test binary; a
// line that is nothing else becomes empty.
func HumanLine(line string) string {
	if before, _, found := strings.Cut(line, testMark+"=== NAME"); found {
		if before == "" {
			return ""
		}
		line = before + "\n"
	}
	return strings.ReplaceAll(line, testMark, "")
}
