package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/test/gotest"
	"github.com/remora-kv/remora/test/rocevm"
)

// TestCommandLineErrors checks that a wrong command line is refused before
// anything is built or booted.
func TestCommandLineErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                                    "rocevm run",
		"dance":                               "probe, results, run, scenario, test",
		"run":                                 "say what to run",
		"run -guests 2 -- true":               "-server CMD",
		"run -guests 2 -server x -client y":   "-ready",
		"run -server x -- true":               "-guests 2",
		"run -at guest~x -- true":             "GUEST~REGEXP=>GUEST:COMMAND",
		"run -at guest~x=>server:y -- true":   "GUEST~REGEXP=>GUEST:COMMAND",
		"run -at guest~x[=>guest:y -- true":   "missing closing",
		"run -nonsense":                       "nonsense",
		"run -guests 7 -accel tcg -- true":    "7 guests",
		"run -file a:b -accel tcg -- true":    "host-path:/guest/path",
		"test":                                "which packages",
		"test -run":                           "flag needs an argument",
		"probe extra":                         "flags only",
		"results -rounds 0":                   "at least 1",
		"results -only dance":                 "cost, instructions, latency, suite",
		"scenario kill":                       "-guests 2",
		"scenario remora-instructions":        "-accel icount",
		"scenario -accel icount perftest":     "leave -accel icount out",
		"run -accel icount -cpus 2 -- true":   "one CPU",
		"scenario nothing":                    "perftest",
		"scenario -guests 2 perftest nothing": "nothing",
	} {
		var stderr bytes.Buffer
		status := dispatch(t.Context(), strings.Fields(line), io.Discard, &stderr)
		if status != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("rocevm %s: status %d, want %q in:\n%s", line, status, want, stderr.String())
		}
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	var stderr bytes.Buffer
	if status := dispatch(t.Context(), []string{"run", "-h"}, io.Discard, &stderr); status != 0 || !strings.Contains(stderr.String(), "-guests") {
		t.Errorf("status %d:\n%s", status, stderr.String())
	}
}

func TestParseTest(t *testing.T) {
	got, err := parseTest(strings.Fields("-guests 2 ./a -run X/Y -short ./b -count 3 -- -own flag"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.patterns, []string{"./a", "./b"}) || got.config.Guests != 2 || got.options.Tags != "rdma" {
		t.Errorf("got %+v", got)
	}
	want := []string{"-test.count=3", "-test.run=X/Y", "-test.short", "-own", "flag"}
	if !slices.Equal(got.options.Args, want) {
		t.Errorf("arguments %v, want %v", got.options.Args, want)
	}
}

func TestParseFaults(t *testing.T) {
	got, err := parseFaults([]string{"client~^under way$=>server:ip link set eth0 down; echo a:b=>c"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	f := got[0]
	if f.watched != "client" || !f.line.MatchString("under way") || f.guest != "server" || f.command != "ip link set eth0 down; echo a:b=>c" {
		t.Errorf("got %+v", f)
	}
}

func TestSummary(t *testing.T) {
	var out bytes.Buffer
	summarize(&out, "guest", "example.com/x", gotest.Tally{Passed: []string{"A", "B"}, Failed: []string{"C"}, Unfinished: []string{"D"}, Elapsed: 1.5})
	for _, want := range []string{"FAIL example.com/x in guest: 2 passed, 1 failed, 0 skipped, 1.5 s", "failed: C", "never ended: D"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestInterruptedRunIsNoResult(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, err := report(ctx, &rocevm.Cluster{}, io.Discard, errors.New("whatever came of it"))
	if status != exitUsage || err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("status %d, %v", status, err)
	}
}
