package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tinyFigure are the flags that make a figure of next to nothing.
var tinyFigure = strings.Fields("--fabric loop --only 5 --duration 1ms --warmup 0s --trials 1 --table 64KiB")

func TestBenchVerbsFiguresWritesWhatItSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	code, out, errOut := runCmd(t, append([]string{"bench", "figure", "herd-verbs", "--out", dir}, tinyFigure...)...)
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, %q", code, errOut)
	}
	for _, name := range []string{"figure-5.csv", "figure-5.svg", "index.md"} {
		if path := filepath.Join(dir, name); !strings.Contains(out, path) {
			t.Errorf("%s is not in\n%s", path, out)
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, "index.md"))
	if err != nil {
		t.Fatal(err)
	}
	// The commands in the index are commands.
	ran := 0
	for line := range strings.Lines(string(index)) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "remora bench verbs echo-")
		if !ok {
			continue
		}
		ran++
		fields := append([]string{"bench", "verbs"}, strings.Fields("echo-"+args)...)
		if code, _, errOut := runCmd(t, fields...); code != exitOK {
			t.Errorf("%q: exit code %d, %s", fields, code, errOut)
		}
	}
	if ran != 12 {
		t.Errorf("%d commands in the index, want one for each of 12 points", ran)
	}
}

func TestBenchVerbsFiguresPrintsNothingButJSON(t *testing.T) {
	code, out, _ := runCmd(t, append([]string{"bench", "figure", "herd-verbs", "--json", "--out", t.TempDir()}, tinyFigure...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 12 {
		t.Fatalf("exit code %d, %d lines:\n%s", code, len(lines), out)
	}
	for _, line := range lines {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil || row["figure"] != 5.0 || row["series"] == "" || row["ops"] == 0.0 && row["lost"] == nil {
			t.Errorf("%v: %s", err, line)
		}
	}
}

func TestBenchVerbsFiguresExplainsMistakes(t *testing.T) {
	out := t.TempDir()
	for args, want := range map[string]string{
		"":                             "--out is missing",
		"--out DIR --only 1":           "there are Figures 2 to 7",
		"--out DIR --only two":         "invalid argument",
		"--out DIR --trials 0":         "--trials 0 must be at least 1",
		"--out DIR --duration 0s":      "too short",
		"--out DIR --warmup -1s":       "must not be negative",
		"--out DIR --table 1":          "too small to search",
		"--out DIR --fabric pigeon":    "pigeon",
		"--out DIR --server-command x": "needs --listen",
		"--out DIR read":               "takes no arguments",
	} {
		fields := strings.Fields(strings.ReplaceAll(args, "DIR", out))
		code, got, errOut := runCmd(t, append([]string{"bench", "figure", "herd-verbs"}, fields...)...)
		if code != exitUsage || got != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errOut, want)
		}
	}
	code, _, errOut := runCmd(t, "bench", "figure", "herd-verbs", "--out", "/dev/null/figures")
	if code != exitFailure || !strings.Contains(errOut, "directory for the figures") {
		t.Errorf("a directory that cannot be: exit code %d, %q", code, errOut)
	}
}

func TestBenchVerbsFiguresCompletes(t *testing.T) {
	for words, want := range map[string]string{
		"bench figure herd-verbs --only ":   "5\tECHO rate",
		"bench figure herd-verbs --fabric ": "shm",
		"bench figure herd-v":               "herd-verbs\t",
		"bench verbs echo-ws --prefetch ":   "on,off",
		"bench verbs inbound-w":             "inbound-write\t",
	} {
		args := append([]string{"__complete"}, strings.Fields(words)...)
		if strings.HasSuffix(words, " ") {
			args = append(args, "")
		}
		if code, out, _ := runCmd(t, args...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, no %q in\n%s", words, code, want, out)
		}
	}
}
