//go:build !race

// Presets run what the benchmarks run, which are tested with the race detector by themselves.

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/preset"
	"github.com/remora-kv/remora/test/scale"
)

// kindsOfPresets has a preset of every benchmark and paper.
var kindsOfPresets = []string{"rfp-fig4", "rfrpc-fig8", "herd-fig5", "herd-fig9", "keli-fig8", "keli-fig10", "proto-table4"}

// Every preset runs, in a tiny form, and leaves no point out but those that the fabric or
// this machine has not: one of each kind, and all of them in a soak test.
func TestEveryPresetRuns(t *testing.T) {
	for _, p := range preset.All() {
		if !scale.Soak() && !slices.Contains(kindsOfPresets, p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			code, out, errOut := runCmd(t, "bench", "figure", p.Name, "--trials", "1", "--keys", "200", "--ops", "100", "--warmup", "1ms", "--memory", "64MiB", "--scale", "0.00001")
			if code != exitOK || !strings.Contains(out, p.Figure) || !strings.Contains(out, "found there: ") {
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

func TestPresetData(t *testing.T) {
	args := strings.Fields("bench figure herd-fig9 --trials 2 --keys 200 --ops 100 --memory 64MiB --fabric loop --csv -")
	code, out, _ := runCmd(t, args...)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != exitOK || len(lines) != 1+2*12 || !strings.HasPrefix(lines[0], "preset,figure,series,axis,x,trial,") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for bad, want := range map[string]string{
		"nothing":                         "bench figure",
		"herd-fig9 --path rfp":            "--path",
		"herd-fig9 --fabric shm,tcp":      "--fabric",
		"herd-fig9 --scale 0":             "--scale",
		"herd-fig9 --json --csv -":        "standard output",
		"herd-fig9 --ops 1 --duration 1s": "exclude each other",
	} {
		if code, _, errOut := runCmd(t, append([]string{"bench", "figure"}, strings.Fields(bad)...)...); code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q", bad, code, errOut)
		}
	}
	code, out, _ = runCmd(t, "bench", "figure")
	_, help, _ := runCmd(t, "bench", "figure", "--help")
	for _, p := range preset.All() {
		if code != exitOK || !strings.Contains(out, p.Name+"\n  "+p.Paper+", "+p.Figure) || !strings.Contains(out, p.Found) || !strings.Contains(help, p.Name) || !strings.Contains(help, p.Figure+": "+p.Title) {
			t.Errorf("%s is not told", p.Name)
		}
	}
}
