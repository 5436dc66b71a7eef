package verbs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/benchtest"
)

// Every test runs on every fabric over every transport that can carry it, and
// does exactly as many operations as it was asked for.
func TestEveryTestOnEveryFabric(t *testing.T) {
	for _, name := range []string{"loop", "shm", "tcp"} {
		for _, test := range verbs.Tests() {
			transports := test.Transports
			if len(transports) == 0 {
				transports = []fabric.Transport{fabric.RC}
			}
			for _, transport := range transports {
				if test.Name == "idle" && name == "loop" {
					continue // has no server process; TestWhatCannotBeMeasured... knows
				}
				t.Run(fmt.Sprintf("%s/%s/%v", name, test.Name, transport), func(t *testing.T) {
					checkTest(t, verbs.Config{
						Tests: []string{test.Name}, Fabric: name, Transport: transport.String(),
						Ops: testOps, Duration: 20 * time.Millisecond, Windows: windowsOf(test.Name),
					})
				})
			}
		}
	}
}

func windowsOf(test string) []int {
	if test == "idle" {
		return nil
	}
	return []int{1, 7}
}

// checkTest runs cfg and checks its rows as a script would see them.
func checkTest(t *testing.T, cfg verbs.Config) []verbs.Row {
	t.Helper()
	env := envOf(benchtest.Server)
	var lines bytes.Buffer
	env.Row = func(r verbs.Row) error { return json.NewEncoder(&lines).Encode(r) }
	report, err := verbs.Run(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) == 0 || len(report.Notes) == 0 {
		t.Fatalf("report with %d rows and %d notes", len(report.Rows), len(report.Notes))
	}
	for i, r := range report.Rows {
		checkRow(t, r, cfg)
		var got map[string]any
		line, _ := lines.ReadBytes('\n')
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("row %d: %v in %q", i, err, line)
		}
		for _, name := range []string{
			"test", "fabric", "transport", "size", "inline", "signaled", "window",
			"ops", "seconds", "ops_per_sec", "p50_us", "p99_us",
		} {
			if _, ok := got[name]; !ok {
				t.Errorf("row %d has no %q: %s", i, name, line)
			}
		}
	}
	if lines.Len() != 0 {
		t.Errorf("more lines than rows: %q", lines.String())
	}
	return report.Rows
}

func checkRow(t *testing.T, r verbs.Row, cfg verbs.Config) {
	t.Helper()
	want := uint64(cfg.Ops * r.Threads)
	switch {
	case r.Test == "idle":
		want = 1
		if r.ServerCPU == nil {
			t.Errorf("%s: no CPU of the server", r.Test)
		}
	case strings.HasPrefix(r.Test, "outbound"):
		want = uint64(cfg.Ops) // of the one thread of the server
	}
	if r.Ops != want {
		t.Errorf("%s window %d threads %d: %d operations, want %d", r.Test, r.Window, r.Threads, r.Ops, want)
	}
	if r.Seconds <= 0 || r.OpsPerSec <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.Samples == 0 {
		t.Errorf("%s: numbers that cannot be: %+v", r.Test, r)
	}
	if r.Lost > 0 && r.Transport == "rc" {
		t.Errorf("%s lost %d messages on rc", r.Test, r.Lost)
	}
}

// The switches of posting, sizes around a cache line, windows that do not
// divide anything, and both policies.
func TestParameters(t *testing.T) {
	base := verbs.Config{Fabric: "loop", Ops: testOps / 4, Sizes: []int{65, 3000}, Windows: []int{1, 5}}
	for _, test := range []string{"read", "write", "send", "echo-ss", "echo-ws", "echo-ww"} {
		for _, inline := range []verbs.Toggle{verbs.Auto, verbs.Off} {
			for _, unsignaled := range []verbs.Toggle{verbs.Off, verbs.On} {
				for _, poll := range []fabric.Policy{fabric.Adaptive, fabric.Busy} {
					cfg := base
					cfg.Tests, cfg.Inline, cfg.Unsignaled, cfg.Poll = []string{test}, inline, unsignaled, poll
					if unsignaled == verbs.On {
						cfg.Windows = []int{5} // alone, an operation must report
					}
					t.Run(fmt.Sprintf("%s/%d/%d/%v", test, inline, unsignaled, poll), func(t *testing.T) { checkTest(t, cfg) })
				}
			}
		}
	}
}

// Replies by datagrams, and searches of the server, on every fabric and from
// several threads.
func TestHERDsEcho(t *testing.T) {
	for _, name := range []string{"loop", "shm", "tcp"} {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, threads), func(t *testing.T) {
				rows := checkTest(t, verbs.Config{
					Tests: []string{"echo-ws"}, Fabric: name, Transport: "uc", ReplyTransport: "ud", Threads: threads,
					Sizes: []int{32}, Windows: []int{1, 8}, Ops: 300,
					Accesses: []int{0, 2}, Prefetch: []bool{true, false}, Table: 1 << 20,
				})
				if len(rows) != 6 {
					t.Errorf("%d rows, want 3 for each window", len(rows))
				}
				for _, r := range rows {
					if r.Transport != "uc" || r.ReplyTransport != "ud" || (r.Prefetch == "") != (r.Accesses == 0) {
						t.Errorf("row %+v", r)
					}
				}
			})
		}
	}
}

func TestLimitSizes(t *testing.T) {
	checkTest(t, verbs.Config{
		Tests: []string{"limit", "limit-pair"}, Ops: 500, Sizes: []int{8, 63, 64, 1000}, Windows: []int{1, 5},
	})
}

func TestThreads(t *testing.T) {
	for _, test := range []string{"read", "send", "echo-ss", "echo-ww", "inbound", "outbound", "all-to-all", "all-to-all-out"} {
		t.Run(test, func(t *testing.T) {
			rows := checkTest(t, verbs.Config{Tests: []string{test}, Fabric: "shm", Ops: 300, Threads: 3, Windows: []int{4}})
			if rows[0].Threads != 3 {
				t.Errorf("%d threads", rows[0].Threads)
			}
		})
	}
}

func TestTrialsAndLimitRatio(t *testing.T) {
	rows := checkTest(t, verbs.Config{
		Tests: []string{"limit", "echo-ww"}, Fabric: "shm", Ops: 500, Trials: 3, Windows: []int{2},
	})
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 3 trials of 2 tests", len(rows))
	}
	for i, r := range rows {
		if r.Trial != i%3+1 {
			t.Errorf("row %d is trial %d", i, r.Trial)
		}
		if (r.LimitRatio != nil) != (r.Test == "echo-ww") {
			t.Errorf("%s: share of the limit %v", r.Test, r.LimitRatio)
		}
	}
}

// By time, with a warm-up.
func TestDuration(t *testing.T) {
	env := envOf(benchtest.Server)
	report, err := verbs.Run(t.Context(), verbs.Config{
		Tests: []string{"write", "outbound"}, Fabric: "shm", Warmup: time.Millisecond, Duration: 5 * time.Millisecond,
	}, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Rows {
		if r.Seconds < 0.005 || r.Ops == 0 {
			t.Errorf("%s: %d operations in %v s, asked for 5 ms", r.Test, r.Ops, r.Seconds)
		}
	}
}

func TestADeadServerSaysWhatItWrote(t *testing.T) {
	_, err := verbs.Run(t.Context(), verbs.Config{Tests: []string{"read"}, Ops: 1}, envOf(benchtest.Broken))
	if err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "server process ended") {
		t.Errorf("a server that died gave %v", err)
	}
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Server = []string{filepath.Join(t.TempDir(), "missing")}
	_, err := verbs.Run(t.Context(), verbs.Config{Tests: []string{"read"}, Ops: 1}, env)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing server gave %v", err)
	}
}

func TestUnknownFabricIsAMistakeOfTheUser(t *testing.T) {
	for _, name := range []string{"carrier-pigeon", "rdma"} {
		_, err := verbs.Run(t.Context(), verbs.Config{Fabric: name}, envOf(benchtest.Server))
		if name == "rdma" && err == nil {
			continue // a binary with verbs
		}
		if !errors.Is(err, bench.ErrUsage) {
			t.Errorf("fabric %q gave %v", name, err)
		}
	}
}

// A run that is cancelled ends with what it has, and leaves nothing behind.
func TestCancel(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, test := range []string{"read", "echo-ww", "outbound", "limit", "idle"} {
		t.Run(test, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			env := envOf(benchtest.Server)
			env.Progress = func(p bench.Progress) {
				if p.Trial == 1 {
					cancel()
				}
			}
			_, err := verbs.Run(ctx, verbs.Config{Tests: []string{test}, Duration: time.Hour}, env)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled, and got %v", err)
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
