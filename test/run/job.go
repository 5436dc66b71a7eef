package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/remora-kv/remora/test/gotest"
	"github.com/remora-kv/remora/test/scale"
)

// job is one run of the tests of a package.
type job struct {
	binary   *gotest.Binary
	pressure pressure
	round    int
	number   int // of all jobs
	args     []string
	timeout  time.Duration
	dir      string // for the log and what the processes of the test leave

	tally   gotest.Tally
	elapsed time.Duration
	cpu     time.Duration // of the test and of the children that it waited for
	hung    string        // the processes of a run that was not over in time
	left    []process     // what outlived the test
	err     error         // why the test has failed, beyond its tally
}

func (j *job) failed() bool { return j.err != nil || !j.tally.OK }

// log is the file with the whole output.
func (j *job) log() string { return filepath.Join(j.dir, "output.log") }

// run runs the test. It is over when the test has ended and nothing is left of its
// session.
func (j *job) run(ctx context.Context) {
	start := time.Now()
	j.err = j.try(ctx)
	j.elapsed = time.Since(start)
}

func (j *job) try(ctx context.Context) error {
	if err := os.MkdirAll(j.dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(j.log())
	if err != nil {
		return err
	}
	defer file.Close()
	events, err := gotest.NewLog(context.WithoutCancel(ctx), j.binary.Package, nil)
	if err != nil {
		return err
	}
	runErr := j.execute(ctx, io.MultiWriter(file, events))
	j.tally, err = events.Finish()
	if err == nil && runErr == nil && !j.tally.Ended {
		err = errors.New("the test ended with status 0 but did not say that it passed")
	}
	return errors.Join(runErr, err)
}

// execute runs the binary in a session of its own.
func (j *job) execute(ctx context.Context, out io.Writer) error {
	argv := j.pressure.command(j.number, j.binary.File, append(gotest.Flags(0), j.args...))
	cmd := exec.Command(argv[0], argv[1:]...) //lint:ignore noctx it ends with its session
	cmd.Dir = j.binary.Source
	cmd.Env = append(append(os.Environ(), j.pressure.env()...), scale.LogsVariable+"="+j.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 10 * quitTime // a child that outlives the test may hold its output
	if err := cmd.Start(); err != nil {
		return err
	}
	leader := cmd.Process.Pid
	ended := make(chan struct{})
	if j.pressure.stopped {
		go stopAtRandom(leader, ended)
	}
	var err error
	go func() {
		err = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		killSession(leader)
		<-ended
		return context.Cause(ctx)
	case <-time.After(j.timeout):
		j.hung = examine(leader, ended)
		<-ended
		err = fmt.Errorf("not over after %v", j.timeout)
	}
	j.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	j.left = killSession(leader)
	return err
}

// crashes returns what the processes of the test printed as they crashed or were
// examined, one text each.
func (j *job) crashes() []string {
	var texts []string
	for _, name := range scale.CrashFiles(j.dir) {
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s:\n%s", filepath.Base(name), text))
	}
	return texts
}

// repeat is the command that runs one test again in the same way.
func (j *job) repeat(test string, race bool) string {
	var b strings.Builder
	if j.pressure.name == "none" {
		b.WriteString("go test -count=1")
	} else {
		fmt.Fprintf(&b, "script/stress -pressure %s", j.pressure.name)
	}
	if race {
		b.WriteString(" -race")
	}
	if test != "" {
		fmt.Fprintf(&b, " -run '%s'", exactly(test))
	}
	pkg := j.binary.Package
	if rest, ok := strings.CutPrefix(pkg, module); ok {
		pkg = "." + rest
	}
	return b.String() + " " + pkg
}

// module is the import path of this repository.
const module = "github.com/remora-kv/remora"

// exactly is the regexp of -run for one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
