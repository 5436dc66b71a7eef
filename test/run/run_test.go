package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sample = "./testdata/sample"

// runSample runs tests of the sample package and returns what was printed.
func runSample(t *testing.T, change func(*config), args ...string) (out string, failed bool) {
	t.Helper()
	c, err := parse(append(args, "-logs", filepath.Join(t.TempDir(), "logs"), sample), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(c)
	}
	var b strings.Builder
	failed, err = newRunner(c, &b).run(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return b.String(), failed
}

func wantAll(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestPass(t *testing.T) {
	out, failed := runSample(t, nil, "-run", "Good|Skipped", "-rounds", "2", "-slowest", "3")
	if failed {
		t.Errorf("failed:\n%s", out)
	}
	wantAll(t, out, "ok   none     2", "skipped: "+module+"/test/run/testdata/sample TestSkipped", "s  "+module+"/test/run/testdata/sample TestGood", "2 passed, 0 failed, 2 skipped\n")
}

func TestFailureExplainsItself(t *testing.T) {
	for _, p := range []struct{ pressure, repeat string }{
		{"none", "go test -count=1 -run '^TestBad$/^case$' ./test/run/testdata/sample"},
		{"one-cpu", "script/stress -pressure one-cpu -run '^TestBad$/^case$' ./test/run/testdata/sample"},
	} {
		var logs string
		out, failed := runSample(t, func(c *config) { logs = c.logs }, "-run", "Good|Bad", "-pressure", p.pressure)
		if !failed {
			t.Errorf("passed:\n%s", out)
		}
		wantAll(t, out, "--- TestBad/case\n", "seed 0x2a: wrong", "repeat: "+p.repeat+"\n", "failed 1 times: "+p.repeat+"\n", "1 passed, 1 failed, 0 skipped\n")
		kept, err := filepath.Glob(filepath.Join(logs, "*", "output.log"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("logs %v, %v", kept, err)
		}
		text, err := os.ReadFile(kept[0])
		if err != nil || !strings.Contains(string(text), "a word") {
			t.Errorf("the log has %q, %v", text, err)
		}
	}
}

func TestEndOutsideOfTests(t *testing.T) {
	out, failed := runSample(t, nil, "-run", "Exit")
	if !failed {
		t.Errorf("passed:\n%s", out)
	}
	wantAll(t, out, "exit status 3", "--- TestExit\n")
}

// TestHang checks that both processes of a test that hangs print where.
func TestHang(t *testing.T) {
	out, failed := runSample(t, func(c *config) { c.timeout = time.Second }, "-run", "Hang")
	if !failed {
		t.Errorf("passed:\n%s", out)
	}
	wantAll(t, out, "not over after 1s", "process ", "testThatWaits", "childThatWaits", "repeat: go test -count=1 -run '^TestHang$'")
}

// TestPressures runs a test under each pressure; what is left of them would be seen
// by the next.
func TestPressures(t *testing.T) {
	out, failed := runSample(t, nil, "-run", "Good", "-pressure", strings.Join(pressureNames(), ","))
	if failed {
		t.Errorf("failed:\n%s", out)
	}
	wantAll(t, out, "ok   one-cpu", "ok   busy", "ok   stopped", "ok   all", "5 passed, 0 failed, 0 skipped\n")
}

func TestCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"-pressure tide": `no pressure "tide"; there are none, one-cpu, busy, stopped, all`,
		"-rounds 0":      "must be positive",
		"-jobs x":        "invalid value",
	} {
		if _, err := parse(strings.Fields(line), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
