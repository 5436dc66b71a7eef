package host

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// shell starts a script that is told to end by SIGTERM.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := StartProcess(exec.CommandContext(t.Context(), "/bin/sh", "-c", script), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatAProcessSaidIsKept(t *testing.T) {
	p := shell(t, "echo one; echo two >&2; exit 3")
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("it ended with %v", err)
	}
	if s := p.Said(); !strings.Contains(s, "one\ntwo") {
		t.Errorf("it said %q", s)
	}
	if err := p.Obituary(io.EOF); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "two") {
		t.Errorf("its obituary is %v", err)
	}
}

func TestCloseEndsAProcess(t *testing.T) {
	p := shell(t, "exec sleep 600")
	//lint:ignore errorlint it must be this very error
	if err := p.Blame(io.EOF); err != io.EOF {
		t.Errorf("a living process is blamed: %v", err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.CPU(); !errors.Is(err, ErrGone) {
		t.Errorf("the CPU time of a process that ended: %v", err)
	}
}

func TestAProcessThatDoesNotListenIsKilled(t *testing.T) {
	defer func(d time.Duration) { endTimeout = d }(endTimeout)
	endTimeout = 100 * time.Millisecond
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "trap '' TERM; echo ready; exec sleep 600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := StartProcess(cmd, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("closed with %v", err)
	}
}

func TestAGoroutineInThePlaceOfAProcess(t *testing.T) {
	end := make(chan struct{})
	p := GoProcess(func() error { close(end); return nil }, func() error { <-end; return io.ErrUnexpectedEOF })
	if p.Pid() != 0 {
		t.Errorf("it has process id %d", p.Pid())
	}
	if err := p.Close(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("closed with %v", err)
	}
}
