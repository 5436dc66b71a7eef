package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora"
)

// The first commands of README.md print what it says, for a user who is not root.
func TestFirstCommandsOfREADME(t *testing.T) {
	bare(t)
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```console\n$ go build ")
	block, _, found := strings.Cut(rest, "```")
	if !ok || !found {
		t.Fatal("README.md has no block of commands that begins with go build")
	}
	user := newOtherUser(t)
	server := user.command("serve")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "shm:"+user.dir) {
		t.Fatalf("the server printed %q, %v", line, err)
	}
	ran := 0
	for _, part := range strings.Split(block, "$ remora ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		if strings.HasPrefix(line, "serve") {
			continue
		}
		got, err := user.command(strings.Fields(line)...).CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
			t.Errorf("remora %s printed %q (%v), README.md says %q", line, got, err, want)
		}
		ran++
	}
	if ran < 2 {
		t.Errorf("README.md has %d commands", ran)
	}
}

// otherUser runs the program as a user who is not root, with files of its own.
type otherUser struct {
	t   *testing.T
	dir string
}

func newOtherUser(t *testing.T) *otherUser {
	dir := t.TempDir()
	for path, mode := range map[string]os.FileMode{dir: 0o777, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	return &otherUser{t, dir}
}

func (u *otherUser) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), "/proc/self/exe", args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), programVar+"=1", "XDG_RUNTIME_DIR=", "TMPDIR="+u.dir, "REMORA_MEMORY=16MiB")
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// Values end with a newline on a terminal only.
func TestValuesOnATerminal(t *testing.T) {
	bare(t)
	master, tty := newTerminal(t)
	s := serve(t, 1, nil, "--listen", shmURL(t))
	s.ok("set", "a", "one")
	s.ok("set", "b", "two\n")
	var errOut bytes.Buffer
	if code := run(t.Context(), []string{"get", "--server", s.urls[0], "a", "b", "a"}, strings.NewReader(""), tty, &errOut); code != exitOK {
		t.Fatalf("exit code %d, %s", code, &errOut)
	}
	const want = "one\r\ntwo\r\none\r\n" // a terminal moves back by itself
	got := make([]byte, len(want))
	if n, err := io.ReadFull(master, got); err != nil || string(got) != want {
		t.Errorf("the terminal shows %q, %v", got[:n], err)
	}
}

// newTerminal returns a terminal and the end that shows what is written to it.
func newTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this machine has no pseudo terminals")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return master, tty
}

// Scripts can tell what certainly did not happen from what may have happened.
func TestExitCodesOfLostServers(t *testing.T) {
	for want, err := range map[int]error{
		exitUnavailable: &remora.LostError{Op: "set", Addr: "shm:/s", Err: errors.New("gone")},
		exitUnknown:     &remora.LostError{Op: "set", Addr: "shm:/s", Sent: true, Err: errors.New("gone")},
	} {
		if got := exitCode(fmt.Errorf("key k: %w", err)); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}
