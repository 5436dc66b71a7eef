package rocevm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

const (
	// testRoot is where test binaries are in the guest, each in a directory
	// of the name of its package.
	testRoot = "/test"
	// testMargin is how much earlier than the harness the test binary itself
	// ends a test that hangs: its own report is the better one.
	testMargin = 15 * time.Second
)

// TestOptions say how test binaries are compiled and run.
type TestOptions struct {
	Tags  string   // build tags
	Race  bool     // compile with the race detector
	Args  []string // for the test binary, such as -test.run=X
	Build []string // more flags for go test -c
}

// TestBinary is a compiled test of one package.
type TestBinary struct {
	Package string // import path
	files   []File // the binary and testdata
	dir     string // its directory in the guest
}

// Files are what a guest needs to run the binary.
func (b *TestBinary) Files() []File { return b.files }

// CompileTests compiles the tests of the packages that match the patterns into
// dir. Packages without tests are left out; patterns without any test at all are
// an error.
func CompileTests(ctx context.Context, dir string, o TestOptions, patterns ...string) ([]*TestBinary, error) {
	list := append([]string{"list", "-tags=" + o.Tags, "-f", "{{.ImportPath}}\t{{.Dir}}\t{{len .TestGoFiles}}{{len .XTestGoFiles}}"}, patterns...)
	text, err := output(ctx, "", "go", list...)
	if err != nil {
		return nil, err
	}
	var binaries []*TestBinary
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 || fields[2] == "00" {
			continue
		}
		b, err := compileTest(ctx, dir, o, fields[0], fields[1])
		if err != nil {
			return nil, err
		}
		binaries = append(binaries, b)
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("rocevm: no tests in %s with tags %q", strings.Join(patterns, " "), o.Tags)
	}
	return binaries, nil
}

func compileTest(ctx context.Context, dir string, o TestOptions, pkg, source string) (*TestBinary, error) {
	host := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	args := []string{"test", "-c", "-trimpath", "-tags=" + o.Tags, "-o", host}
	if o.Race {
		args = append(args, "-race")
	}
	args = append(append(args, o.Build...), pkg)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS=linux", "GOARCH=amd64")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("rocevm: go %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	b := &TestBinary{Package: pkg, dir: path.Join(testRoot, pkg)}
	b.files = []File{{Host: host, Guest: b.program()}}
	if data := filepath.Join(source, "testdata"); isDir(data) {
		b.files = append(b.files, File{Host: data, Guest: path.Join(b.dir, "testdata")})
	}
	return b, nil
}

func (b *TestBinary) program() string { return path.Join(b.dir, path.Base(b.Package)+".test") }

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Command runs the binary in its directory of the guest. A test that hangs is
// ended by the binary a little before the timeout given.
func (b *TestBinary) Command(o TestOptions, timeout time.Duration) Command {
	own := timeout - testMargin
	if own < testMargin {
		own = timeout / 2
	}
	argv := append([]string{b.program(), "-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + own.String()}, o.Args...)
	return Command{Argv: argv, Dir: b.dir}
}

// Tally is what the tests of one binary did.
type Tally struct {
	Passed, Failed, Skipped []string
	Unfinished              []string // started and never ended: a panic, or a lost guest
	Ended                   bool     // the binary reported its own end
	OK                      bool     // and that it passed
	Elapsed                 float64  // seconds, as the binary says
}

// testEvent is a line of test2json.
type testEvent struct {
	Action  string
	Test    string
	Elapsed float64
}

// TestLog turns the output of a test binary into JSON events by the go tool and
// counts results from them. It must be closed by Finish.
type TestLog struct {
	stdin io.WriteCloser
	cmd   *exec.Cmd
	done  chan struct{}
	tally Tally
	open  map[string]bool
	order []string
	log   io.Writer
	err   error
}

// NewTestLog starts to convert the output of the tests of a package. Events are
// copied to log unless it is nil.
func NewTestLog(ctx context.Context, pkg string, log io.Writer) (*TestLog, error) {
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
		return nil, fmt.Errorf("rocevm: go tool test2json: %w", err)
	}
	t := &TestLog{stdin: stdin, cmd: cmd, done: make(chan struct{}), open: make(map[string]bool), log: log}
	go func() {
		defer close(t.done)
		t.err = t.read(stdout)
	}()
	return t, nil
}

// Write takes the output of a binary that runs with -test.v=test2json.
func (t *TestLog) Write(p []byte) (int, error) { return t.stdin.Write(p) }

func (t *TestLog) read(events io.Reader) error {
	if t.log != nil {
		events = io.TeeReader(events, t.log)
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
			return fmt.Errorf("rocevm: output of test2json: %w", err)
		}
		t.count(e)
	}
}

func (t *TestLog) count(e testEvent) {
	var results *[]string
	switch e.Action {
	case "run":
		t.open[e.Test] = true
		t.order = append(t.order, e.Test)
		return
	case "pass":
		results = &t.tally.Passed
	case "fail":
		results = &t.tally.Failed
	case "skip":
		results = &t.tally.Skipped
	default:
		return
	}
	if e.Test == "" {
		t.tally.Ended, t.tally.OK, t.tally.Elapsed = true, e.Action != "fail", e.Elapsed
		return
	}
	delete(t.open, e.Test)
	*results = append(*results, e.Test)
}

// Finish says that the output is complete and returns the results.
func (t *TestLog) Finish() (Tally, error) {
	t.stdin.Close()
	<-t.done
	err := errors.Join(t.err, t.cmd.Wait())
	for _, name := range t.order {
		if t.open[name] {
			t.tally.Unfinished = append(t.tally.Unfinished, name)
		}
	}
	return t.tally, err
}

// testMark begins the lines of a test binary that test2json takes for its own.
const testMark = "\x16"

// HumanTestLine takes the marks meant for test2json out of a line of a test
// binary; a line that is nothing else becomes empty.
func HumanTestLine(line string) string {
	if before, _, found := strings.Cut(line, testMark+"=== NAME"); found {
		if before == "" {
			return ""
		}
		line = before + "\n"
	}
	return strings.ReplaceAll(line, testMark, "")
}
