package examples

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/cachetest"
)

// TestExamples builds every example, runs it as a server and calls it, as its
// comment says, and holds it to its size.
func TestExamples(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, e := range []struct {
		name  string
		serve []string
		calls [][]string
		want  []string
	}{
		{"echo", nil, [][]string{{"hello"}, {"again"}}, []string{"hello", "again"}},
		{"counter", nil, [][]string{{"hits", "5"}, {"hits", "-2"}, {"other", "1"}}, []string{"5", "3", "1"}},
		{"filestat", []string{"-serve", "."}, [][]string{{"examples_test.go"}, {"nothing"}}, []string{"examples_test.go: ", "there is no such file"}},
		{"followers", nil, [][]string{{"7"}, {"x"}}, []string{" users, ", "invalid syntax"}},
		{"productpage", nil, [][]string{{"7"}, {"99999"}}, []string{" of 5, by user number ", "no such item"}},
		{"mapmatch", nil, [][]string{{"7"}, {"8"}}, []string{" is on street number ", " micro-degrees off"}},
	} {
		t.Run(e.name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(e.name, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte{'\n'}); n >= 60 {
				t.Errorf("%d lines; an example has fewer than 60", n)
			}
			run := func(args ...string) *exec.Cmd {
				addr := "shm:" + filepath.Join(bin, e.name+".sock")
				return exec.CommandContext(t.Context(), filepath.Join(bin, e.name), append([]string{addr}, args...)...)
			}
			server := run(e.serve...)
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
			await(t, filepath.Join(bin, e.name+".sock"))
			if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, e.name)).CombinedOutput(); err == nil || !strings.Contains(string(out), "usage: ") {
				t.Errorf("without arguments: %v, %q instead of how to use it", err, out)
			}
			for i, args := range e.calls {
				out, _ := run(args...).CombinedOutput()
				if !strings.Contains(string(out), e.want[i]) {
					t.Errorf("%v: %q instead of %q", args, out, e.want[i])
				}
			}
		})
	}
}

// await waits until a server listens at a socket. That there is a file says little: between
// making it and listening a busy machine may take its time.
func await(t *testing.T, path string) {
	t.Helper()
	var d net.Dialer
	for end := time.Now().Add(cachetest.Watchdog); ; <-time.After(10 * time.Millisecond) {
		c, err := d.DialContext(t.Context(), "unixpacket", path)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not listen: %v", err)
		}
	}
}
