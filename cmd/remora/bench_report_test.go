package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchWritesAReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's out")
	args := append(smallBench("--fabric loop --batch 1,4 --trials 2"), "--report", dir)
	for range 2 { // the second overwrites the first
		code, out, errOut := runCmd(t, args...)
		if code != exitOK || !strings.Contains(out, "ops/s") || !strings.Contains(errOut, "report: file://"+filepath.Join(dir, "index.html")) {
			t.Fatalf("exit code %d, %q, standard error %q", code, out, errOut)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 cases, 4 trials", "--fabric loop --batch 1,4 --trials 2", "it&#39;\\&#39;&#39;s out", "batch 4", "fewer than 10000"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	for _, name := range []string{"rows.csv", "rows.json", "fig-throughput.svg", "fig-cdf.png"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// With JSON standard output has nothing else.
	code, out, errOut := runCmd(t, append(args, "--json")...)
	if code != exitOK || strings.Contains(out, "report:") || !strings.Contains(errOut, "report:") {
		t.Errorf("exit code %d, %q, standard error %q", code, out, errOut)
	}
}

// What is not ours is refused before anything is measured.
func TestBenchRefusesToOverwrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runCmd(t, "bench", "cache", "--report", dir)
	if code != exitUsage || out != "" || !strings.Contains(errOut, "choose another directory") {
		t.Errorf("exit code %d, %q, standard error %q", code, out, errOut)
	}
}
