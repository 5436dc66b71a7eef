package cachetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/remora-kv/remora/test/scale" // the processes of a test that hangs say where
)

// roleVar is the variable that makes a test binary another process of its test.
const roleVar = "REMORA_CACHE_TEST_ROLE"

// Role returns the role that this process has, "" for that of the tests.
func Role() string { return os.Getenv(roleVar) }

// Process is a process that a test has started, and ends at its end. What it
// writes to its standard error is kept in Said, and printed if the test fails.
type Process struct {
	Said Log
	// In is its standard input, and Out reads what it writes.
	In  io.WriteCloser
	Out *bufio.Reader

	t    testing.TB
	cmd  *exec.Cmd
	once sync.Once
	done chan struct{}
	err  error // of Wait, once done is closed
}

// Play starts this test binary again in a role, with arguments.
func Play(t testing.TB, role string, args ...string) *Process {
	t.Helper()
	return Start(t, []string{roleVar + "=" + role}, args...)
}

// Start starts this test binary again with arguments, and with variables added to
// its environment.
func Start(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...) //lint:ignore noctx it ends by Kill or Wait, or with the test
	// A race build would wait a second before it exits.
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), env...)
	cmd.SysProcAttr = attributes()
	p := &Process{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = &p.Said
	p.In, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not a StdoutPipe: Wait would close it with lines unread.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, p.Out = w, bufio.NewReader(r)
	err = p.start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		_ = r.Close()
		if t.Failed() {
			t.Logf("process %d (%s) ended with %v and said:\n%s", p.Pid(), strings.Join(append(env, args...), " "), p.err, &p.Said)
		}
	})
	return p
}

// start starts the process from a thread that lives as long as the process, which
// dies with it.
func (p *Process) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	return <-started
}

// Pid is the number of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Line returns the next line of its standard output.
func (p *Process) Line() string {
	p.t.Helper()
	line, err := p.ReadLine()
	if err != nil {
		p.t.Fatalf("reading a line of process %d: %v; it said:\n%s", p.Pid(), err, &p.Said)
	}
	return line
}

// ReadLine is Line for any goroutine.
func (p *Process) ReadLine() (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := p.Out.ReadString('\n')
		read <- result{strings.TrimSuffix(line, "\n"), err}
	}()
	select {
	case r := <-read:
		return r.line, r.err
	case <-time.After(Watchdog):
		p.Kill()
		return "", errors.New("cachetest: no line in time")
	}
}

// Tell writes a line to its standard input.
func (p *Process) Tell(words ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.In, words...); err != nil {
		p.t.Fatalf("telling process %d %v: %v; it said:\n%s", p.Pid(), words, err, &p.Said)
	}
}

// Kill kills the process and waits for its end. A second one does nothing.
func (p *Process) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.In.Close()
	})
	<-p.done
}

// TrySignal sends a signal to a process that may have ended.
func (p *Process) TrySignal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal %v to process %d: %v; it said:\n%s", s, p.Pid(), err, &p.Said)
	}
}

// Exit waits for the end of the process and returns its exit code, -1 when a
// signal ended it.
func (p *Process) Exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(Watchdog):
		p.Kill()
		p.t.Fatalf("process %d does not end; it said:\n%s", p.Pid(), &p.Said)
	}
	return p.cmd.ProcessState.ExitCode()
}
