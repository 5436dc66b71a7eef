package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// programVar makes this binary the program itself, with its command line.
const programVar = "TEST_IS_REMORA"

func init() {
	if os.Getenv(programVar) != "" {
		os.Exit(start())
	}
}

// bare takes the settings of this machine's user out of the environment.
func bare(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "REMORA_") {
			t.Setenv(name, value) // restores it at the end
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// serving is a server process.
type serving struct {
	*cachetest.Process
	t    *testing.T
	urls []string
}

// serve starts `remora serve`, and waits for as many addresses as there are. env
// are variables as NAME=value.
func serve(t *testing.T, addresses int, env []string, args ...string) *serving {
	t.Helper()
	return serveBy(t, addresses, env, append([]string{"serve", "--memory", "16MiB"}, args...)...)
}

// serveKVL is serve for `remora kvl serve`.
func serveKVL(t *testing.T, addresses int, args ...string) *serving {
	t.Helper()
	return serveBy(t, addresses, nil, append([]string{"kvl", "serve"}, args...)...)
}

func serveBy(t *testing.T, addresses int, env []string, args ...string) *serving {
	t.Helper()
	p := cachetest.Start(t, append(env, programVar+"=1"), args...)
	s := &serving{Process: p, t: t}
	for range addresses {
		s.urls = append(s.urls, p.Line())
	}
	return s
}

// shmURL is a free address.
func shmURL(t *testing.T) string { return "shm:" + filepath.Join(t.TempDir(), "s") }

// end ends the server in order.
func (s *serving) end() {
	s.t.Helper()
	s.Signal(os.Interrupt)
	if code := s.Exit(); code != exitOK {
		s.t.Errorf("the server ended with %d: %s", code, &s.Said)
	}
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// remora runs a command in a process of its own.
func command(t *testing.T, stdin []byte, env []string, args ...string) result {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(append(os.Environ(), programVar+"=1", "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")), env...)
	cmd.Stdin = bytes.NewReader(stdin)
	return finish(t, cmd)
}

// finish runs a command to its end.
func finish(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// talk runs a command against the server, at its first address.
func (s *serving) talk(args ...string) result {
	s.t.Helper()
	return command(s.t, nil, []string{"REMORA_SERVER=" + s.urls[0]}, args...)
}

// ok is talk for a command that succeeds, and returns what it prints.
func (s *serving) ok(args ...string) string {
	s.t.Helper()
	r := s.talk(args...)
	if r.code != exitOK || r.err != "" {
		s.t.Errorf("%q: exit code %d, %s", args, r.code, r.err)
	}
	return r.out
}

// fails is talk for a command that fails with a code and says something.
func (s *serving) fails(code int, words string, args ...string) {
	s.t.Helper()
	r := s.talk(args...)
	r.check(s.t, code, words, args)
}

func (r *result) check(t *testing.T, code int, words string, args []string) {
	t.Helper()
	if r.code != code || r.out != "" || !strings.Contains(r.err, words) || !strings.HasPrefix(r.err, "remora: ") {
		t.Errorf("%q: exit code %d instead of %d, standard output %q, standard error %q without %q", args, r.code, code, r.out, r.err, words)
	}
}

// stats returns the statistics of all cores.
func (s *serving) stats() (cores []server.Stats) {
	s.t.Helper()
	for line := range strings.Lines(s.ok("stats", "--json")) {
		var st server.Stats
		if err := json.Unmarshal([]byte(line), &st); err != nil {
			s.t.Fatal(err)
		}
		cores = append(cores, st)
	}
	return cores
}

// within fails the test if f does not end in time.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(cachetest.Watchdog):
		t.Fatalf("%s does not end", what)
	}
}
