package benchtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/test/cachetest"
)

// KillClient proves that a client which is killed takes its server with it, and
// that no socket stays. The role says "measuring" on its standard output when it
// has its one server.
func KillClient(t *testing.T, role string) {
	t.Helper()
	KillParent(t, role, 1)
}

// KillParent is KillClient for a role that has started that number of processes. It returns the number of
// the process that was killed.
func KillParent(t *testing.T, role string, processes int) (pid int) {
	t.Helper()
	argv := Self(role)
	tmp := t.TempDir()
	parent := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	parent.Env = append(os.Environ(), "TMPDIR="+tmp)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "measuring") {
		t.Fatalf("the client said %q, %v", line, err)
	}
	children := Children(parent.Process.Pid, "")
	if len(children) != processes {
		t.Fatalf("the client has children %v, want %d", children, processes)
	}
	var ends []func()
	for _, pid := range children {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(fd) }()
		ends = append(ends, func() { awaitEnd(t, pid, fd) })
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // "signal: killed"
	for _, end := range ends {
		end()
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	return parent.Process.Pid
}

// awaitEnd waits until a process has ended, which fd is of.
func awaitEnd(t *testing.T, pid, fd int) {
	t.Helper()
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, int(cachetest.Watchdog.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("process %d lives %v after its client was killed (%d, %v)", pid, cachetest.Watchdog, n, err)
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		return
	}
}

// Children returns the processes whose parent is pid, and which have a role; any with "".
func Children(pid int, role string) (children []int) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // gone meanwhile
		}
		_, rest, ok := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		var child int
		if _, err := fmt.Sscan(string(b), &child); err == nil && plays(child, role) {
			children = append(children, child)
		}
	}
	return children
}

// plays reports whether a process of this binary has a role.
func plays(pid int, role string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return role == "" || err == nil && strings.Contains(string(env), roleVar+"="+role+"\x00")
}
