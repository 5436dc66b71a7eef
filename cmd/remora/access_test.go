package main

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/remora-kv/remora/test/cachetest"
)

// second is the second user of these tests, with a group of its own.
var second = &syscall.Credential{Uid: 65534, Gid: 65534, Groups: []uint32{54321}}

// asSecond returns what runs commands as the second user.
func asSecond(t *testing.T) func(args ...string) result {
	t.Helper()
	if os.Getuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("only root can start a process of another user")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(publicDir(t), "remora")
	if err := os.WriteFile(mine, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) result {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), mine, args...)
		cmd.Env = append(os.Environ(), programVar+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: second}
		return finish(t, cmd)
	}
}

// publicDir makes a directory that every user can enter.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "remora-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Users whom a server allows get in, by their number, their name or a group. Others are told how to
// be allowed, and the server logs that it refused them.
func TestUsersOfServer(t *testing.T) {
	bare(t)
	other := asSecond(t)
	for _, c := range []struct {
		flags           []string
		enters, refused bool
	}{
		{nil, false, false}, // the file of the socket keeps them out
		{[]string{"--allow-user", "1", "--allow-group", "daemon"}, false, true},
		{[]string{"--allow-user", "1,65534"}, true, false},
		{[]string{"--allow-group", "54321", "--socket-mode", "0666"}, true, false},
	} {
		url := "shm:" + filepath.Join(publicDir(t), "s")
		s := serve(t, 1, nil, append([]string{"--listen", url}, c.flags...)...)
		r := other("set", "k", "v", "--server", url+"?user=root")
		switch {
		case c.enters:
			if r.code != exitOK || r.err != "" {
				t.Errorf("%v: exit code %d, %s", c.flags, r.code, r.err)
			}
		case strings.Contains(r.err, "running there"):
			t.Errorf("%v: a refused user was asked whether a server runs: %s", c.flags, r.err)
		default:
			r.check(t, exitUnavailable, "--allow-user 65534", c.flags)
		}
		if c.refused {
			s.Said.Await(t, "connection refused", 1)
			if !strings.Contains(s.Said.String(), "uid 65534") {
				t.Errorf("%v: the log says %s", c.flags, &s.Said)
			}
		}
		s.ok("ping")
		s.end()
	}
}

// Each start of a server that other hosts can reach warns, once.
func TestExposed(t *testing.T) {
	for url, want := range map[string]bool{
		"shm:/run/remora.sock": false, "loop:x": false, "tcp://127.0.0.1:7700": false, "text://[::1]:7701": false, "rdma://127.3.2.1:1": false,
		"tcp://[::]:7700": true, "tcp://0.0.0.0:7700": true, "text://192.0.2.1:7701": true, "rdma://[2001:db8::1]:7700?device=mlx5_0": true,
	} {
		if beyondHost(url) != want {
			t.Errorf("%s: %v", url, !want)
		}
	}
	var said bytes.Buffer
	warnExposed(slog.New(slog.NewTextHandler(&said, nil)), []string{"shm:/x", "tcp://[::]:1", "tcp://127.0.0.1:1", "text://192.0.2.1:2"})
	if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `addrs="tcp://[::]:1 text://192.0.2.1:2"`) {
		t.Errorf("logged: %s", text)
	}
}

// In a network of its own, a server listens beyond its host.
func TestServeWarnsExposed(t *testing.T) {
	bare(t)
	if os.Getuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("only root can make a network")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--memory", "16MiB", "--listen", "text://:0"},
		{"kvl", "serve", universityFile(t, ""), "--listen", "tcp://:0"},
	} {
		var said cachetest.Log
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Env = append(os.Environ(), programVar+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said.Await(t, "msg=serving", 1)
		said.Await(t, "no authentication: every host", 1)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}
