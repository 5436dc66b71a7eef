//go:build !race

// Figures run what the benchmarks run, which are tested with the race detector by themselves.

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/papers"
	"github.com/remora-kv/remora/test/scale"
)

// kindsOfFigures has a figure of every benchmark and paper.
var kindsOfFigures = []string{"rfp-fig4", "rfrpc-fig8", "herd-fig5", "herd-fig9", "keli-fig8", "keli-fig10", "proto-table4"}

// Every figure runs, in a tiny form, and leaves no point out but those that the fabric or
// this machine has not: one of each kind, and all of them in a soak test.
func TestEveryFigureRuns(t *testing.T) {
	for _, p := range papers.All() {
		if !scale.Soak() && !slices.Contains(kindsOfFigures, p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			code, out, errOut := runCmd(t, "bench", "figure", p.Name, "--trials", "1", "--keys", "200", "--ops", "100", "--warmup", "1ms", "--memory", "64MiB", "--scale", "0.00001", "--table", "64KiB")
			if code != exitOK || !strings.Contains(out, p.Number) || !strings.Contains(out, "found there: ") {
				t.Fatalf("exit code %d, %q\n%s", code, errOut, out)
			}
			for line := range strings.Lines(out) {
				if strings.Contains(line, "not measured") && !strings.Contains(line, "not installed") && !strings.Contains(line, "takes at most 512 inline") {
					t.Error(line)
				}
			}
		})
	}
}

func TestFigureData(t *testing.T) {
	args := strings.Fields("bench figure herd-fig9 --trials 2 --keys 200 --ops 100 --memory 64MiB --fabric loop --csv -")
	code, out, _ := runCmd(t, args...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != exitOK || len(lines) != 1+2*12 || !strings.HasPrefix(lines[0], "preset,figure,series,axis,x,fabric,trial,") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for bad, want := range map[string]string{
		"nothing":                         "bench figure",
		"herd-fig9 --path rfp":            "--path",
		"herd-fig9 --fabric shm,tcp":      "--fabric",
		"herd-fig9 --scale 0":             "--scale",
		"herd-fig9 --json --csv -":        "standard output",
		"herd-fig9 --ops 1 --duration 1s": "exclude each other",
		"herd-fig9 herd-fig99":            "herd-fig99",
		"herd-fig5 --warmup -1s":          "must not be negative",
		"herd-fig7 --table 1":             "too small to search",
		"herd-fig5 --server-command x":    "needs --listen",
		"herd-fig5 --fabric pigeon":       "pigeon",
	} {
		if code, _, errOut := runCmd(t, append([]string{"bench", "figure"}, strings.Fields(bad)...)...); code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q", bad, code, errOut)
		}
	}
	code, out, _ = runCmd(t, "bench", "figure")
	_, help, _ := runCmd(t, "bench", "figure", "--help")
	for _, p := range papers.All() {
		if code != exitOK || !strings.Contains(out, p.Name+"\n  "+p.Paper+", "+p.Number) || !strings.Contains(out, p.Found) || !strings.Contains(help, p.Name) || !strings.Contains(help, p.Number+": "+p.Title) {
			t.Errorf("%s is not told", p.Name)
		}
	}
}

// Several figures make one page, with their pictures and rows.
func TestFigureReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "page")
	code, out, errOut := runCmd(t, "bench", "figure", "herd-fig5", "herd-fig9", "--fabric", "loop", "--trials", "2", "--keys", "200", "--ops", "100", "--memory", "64MiB", "--report", dir)
	if code != exitOK || !strings.Contains(out, "Figure 5") || !strings.Contains(out, "Figure 9") || !strings.Contains(errOut, dir) {
		t.Fatalf("exit code %d, %q\n%s", code, errOut, out)
	}
	for name, want := range map[string]string{
		"fig-herd-fig5-1.svg": "+ inline (paper)", "fig-herd-fig9-1.svg": "HERD (paper)", "index.html": "found: HERD has about 18.5 Mops", "rows.csv": "herd-fig9,Figure 9,HERD,% GET,95,loop,2,",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), strings.ReplaceAll(want, "found:", "Found there:")) {
			t.Errorf("%s: %v, or no %q", name, err, want)
		}
	}
}

func TestFigureCompletes(t *testing.T) {
	for words, want := range map[string]string{
		"bench figure --fabric ":          "shm",
		"bench figure herd-fig":           "herd-fig5\tECHO rate",
		"bench verbs echo-ws --prefetch ": "on,off",
		"bench verbs inbound-w":           "inbound-write\t",
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
