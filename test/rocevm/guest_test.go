package rocevm

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/rocevm/agent"
)

// fakeGuest is a guest whose agent runs on this host, so that the protocol and
// everything above it are tested without a machine. Die ends it as a kernel panic
// would.
func fakeGuest(t *testing.T) (g *Guest, die func()) {
	t.Helper()
	host, far := net.Pipe()
	m := &machine{console: &console{}, done: make(chan struct{})}
	g = &Guest{Name: "fake"}
	g.attach(m, host)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = agent.Serve(context.Background(), far, agent.Event{Text: "6.1.0-fake"})
	}()
	died := false
	die = func() {
		if !died {
			died = true
			far.Close()
			close(m.done)
		}
	}
	t.Cleanup(func() { die(); <-served })
	if err := g.awaitHello(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g, die
}

func TestGuestRun(t *testing.T) {
	g, _ := fakeGuest(t)
	if g.Release != "6.1.0-fake" {
		t.Errorf("release %q", g.Release)
	}
	for _, test := range []struct {
		command string
		status  int
		signal  syscall.Signal
		output  string
	}{
		{"echo out; echo err >&2", 0, 0, "out\nerr"},
		{"printf 'no newline'", 0, 0, "no newline"},
		{"exit 7", 7, 0, ""},
		{"kill -9 $$", 137, syscall.SIGKILL, ""},
		{"no-such-program-here", 127, 0, "*"},
	} {
		r, err := g.Run(t.Context(), Shell(test.command))
		if err != nil {
			t.Errorf("%s: %v", test.command, err)
			continue
		}
		if r.Status != test.status || r.Signal != test.signal || test.output != "*" && r.Output != test.output {
			t.Errorf("%s: %+v", test.command, r)
		}
		if (r.Err() == nil) != (test.status == 0) {
			t.Errorf("%s: Err is %v", test.command, r.Err())
		}
	}
	if r, err := g.Run(t.Context(), Command{Argv: []string{"/no/such/program"}}); err != nil || r.Err() == nil {
		t.Errorf("a program that is not there: %+v, %v", r, err)
	}
	if _, err := g.Start(Command{}); err == nil {
		t.Error("a command without a program was started")
	}
}

func TestGuestOutputFollowsLive(t *testing.T) {
	g, _ := fakeGuest(t)
	var out bytes.Buffer
	p, err := g.Start(Command{Argv: []string{"sh", "-c", `echo "$MARK is up"; read line </dev/null; sleep 1000`}, Env: []string{"MARK=it"}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	line, err := p.Await(t.Context(), regexp.MustCompile(`^it is`))
	if err != nil || line != "it is up" {
		t.Fatalf("got %q, %v", line, err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Wait(t.Context()); err != nil || r.Signal != syscall.SIGKILL {
		t.Errorf("got %+v, %v", r, err)
	}
	if out.String() != "it is up\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestAwaitFailsWhenTheProgramEnds(t *testing.T) {
	g, _ := fakeGuest(t)
	p, err := g.Start(Shell("echo something else; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Await(t.Context(), regexp.MustCompile("ready"))
	if err == nil || !strings.Contains(err.Error(), "status 3") || !strings.Contains(err.Error(), "something else") {
		t.Errorf("got %v", err)
	}
}

func TestReadyFailsWhenTheServerEnds(t *testing.T) {
	g, _ := fakeGuest(t)
	c := &Cluster{Guests: []*Guest{g}}
	_, err := c.StartPair(t.Context(), Shell("echo broken; exit 4"), Ready{Port: 1}, Shell("true"))
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
}

// TestNoEndMarkerIsAFailure is the heart of the harness: a program whose end was
// not seen has not passed.
func TestNoEndMarkerIsAFailure(t *testing.T) {
	g, die := fakeGuest(t)
	if _, err := g.machine.console.Write([]byte("Kernel panic - not syncing\n")); err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(Shell("echo started; exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Await(t.Context(), regexp.MustCompile("started")); err != nil {
		t.Fatal(err)
	}
	die()
	_, err = p.Wait(t.Context())
	if !errors.Is(err, ErrGuestDied) || !strings.Contains(err.Error(), "Kernel panic") {
		t.Errorf("got %v, want ErrGuestDied with the console", err)
	}
	if _, err := g.Start(Shell("true")); err == nil {
		t.Error("a dead guest started a program")
	}
}

func TestRunEndsAProgramThatHangs(t *testing.T) {
	g, _ := fakeGuest(t)
	p, err := g.Start(Shell("trap 'echo stacks; exit 2' QUIT; echo ready; while :; do sleep 0.01; done"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Await(t.Context(), regexp.MustCompile("^ready$")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("too slow"))
	defer cancel()
	r, err := p.WaitOrQuit(ctx)
	if err == nil || !strings.Contains(err.Error(), "too slow") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(r.Output, "stacks") {
		t.Errorf("the program did not get SIGQUIT: %+v", r)
	}
}

func TestReadFile(t *testing.T) {
	g, _ := fakeGuest(t)
	path := filepath.Join(t.TempDir(), "data")
	want := bytes.Repeat([]byte("0123456789\x00\n"), 30000)
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := g.ReadFile(t.Context(), path, &got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got %d bytes of %d, %v", got.Len(), len(want), err)
	}
	if err := g.ReadFile(t.Context(), "/no/such/file", &got); err == nil {
		t.Error("a missing file was read")
	}
}

func TestBootReportsWhatFailedInTheGuest(t *testing.T) {
	host, far := net.Pipe()
	m := &machine{console: &console{}, done: make(chan struct{})}
	g := &Guest{Name: "fake"}
	g.attach(m, host)
	go func() {
		_ = agent.NewWriter(far).Send(agent.Event{Kind: agent.KindHello, Error: "modprobe rdma_rxe failed"})
	}()
	if err := g.awaitHello(t.Context()); err == nil || !strings.Contains(err.Error(), "modprobe rdma_rxe failed") {
		t.Errorf("got %v", err)
	}
	close(m.done)
}

func TestConsoleKeepsTheEnd(t *testing.T) {
	c := &console{}
	for range 5 {
		if _, err := c.Write(bytes.Repeat([]byte("x"), consoleLimit)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Write([]byte("\nlast\n")); err != nil {
		t.Fatal(err)
	}
	if len(c.text) > 3*consoleLimit || c.tail(1) != "last" {
		t.Errorf("%d bytes kept, last line %q", len(c.text), c.tail(1))
	}
}
