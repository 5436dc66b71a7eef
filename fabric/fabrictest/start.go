package fabrictest

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/scale"
)

// processEnv tells a test binary that it was started as the server.
const processEnv = "REMORA_FABRICTEST_SERVER"

// RunProcesses runs the cases for two peers with the client here and the server in a
// second process: the same binary, which runs the same test and so comes here
// again. newSide is called once in each; roles and control are set by
// RunProcesses. The test must not do anything else.
func RunProcesses(t *testing.T, newSide func(tb testing.TB) Side) {
	t.Helper()
	if os.Getenv(processEnv) != "" {
		s := newSide(t)
		s.Role, s.Control = Server, readWriter{os.Stdin, os.NewFile(3, "control")}
		RunSide(t, s)
		return
	}
	s := newSide(t)
	s.Role = Client
	control, end := startServer(t)
	s.Control = control
	defer end()
	RunSide(t, s)
}

// readWriter is a connection of two files.
type readWriter struct {
	io.Reader
	io.Writer
}

// exitTime is how long the server may take to end once the client has left.
const exitTime = 2 * time.Minute

// startServer starts this test in a second process. end waits for it and
// reports what it said if it failed.
func startServer(t *testing.T) (control io.ReadWriter, end func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := scale.Again(ctx, exe, "-test.run="+exactly(t.Name()), "-test.count=1", "-test.v")
	cmd.Env = append(os.Environ(), processEnv+"=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	return readWriter{r, in}, func() {
		t.Helper()
		defer cancel()
		_ = in.Close()
		timer := time.AfterFunc(exitTime, cancel)
		defer timer.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the process of the server: %v\n%s", err, &output)
		} else if t.Failed() {
			t.Logf("the process of the server passed:\n%s", &output)
		}
		_ = r.Close()
	}
}

// exactly is a pattern for -test.run that matches one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
