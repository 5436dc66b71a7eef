package calls_test

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
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/benchtest"
)

// testOps is how many calls a connection makes in a test.
const testOps = 120

// check runs cfg and checks its rows as a script would see them.
func check(t *testing.T, cfg calls.Config) []calls.Row {
	t.Helper()
	if cfg.Ops == 0 {
		cfg.Ops = testOps
	}
	env := envOf(benchtest.Server)
	var lines bytes.Buffer
	env.Row = func(r calls.Row) error { return json.NewEncoder(&lines).Encode(r) }
	report, err := calls.Run(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) == 0 || len(report.Notes) == 0 {
		t.Fatalf("report with %d rows and %d notes", len(report.Rows), len(report.Notes))
	}
	for _, r := range report.Rows {
		checkRow(t, &r, cfg.Ops)
		var again calls.Row
		line, _ := lines.ReadBytes('\n')
		if err := json.Unmarshal(line, &again); err != nil || again.Ops != r.Ops || again.Path != r.Path {
			t.Errorf("row became %q, %v", line, err)
		}
	}
	if lines.Len() != 0 {
		t.Errorf("more lines than rows: %q", lines.String())
	}
	return report.Rows
}

func checkRow(t *testing.T, r *calls.Row, ops int) {
	t.Helper()
	if want := uint64(ops * r.Clients * max(r.Goroutines, 1)); r.Ops != want {
		t.Errorf("%d calls, want %d: %+v", r.Ops, want, r)
	}
	if r.Seconds <= 0 || r.OpsPerSec <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.P999 < r.P99 || r.Mean <= 0 || r.Samples == 0 {
		t.Errorf("numbers that cannot be: %+v", r)
	}
	if r.Errors != 0 {
		t.Errorf("%d errors", r.Errors)
	}
	frames := 1 / float64(r.Batch)
	v := r.Verbs
	if v.Atomic != 0 || v.Write < 0.9*frames {
		t.Errorf("verbs %+v, want about %.2f WRITEs", v, frames)
	}
	switch r.Path {
	case calls.PathFetch:
		if v.Read < 0.9*frames || r.Mode != "fetch" || r.Switches != 0 {
			t.Errorf("fetching, and %+v, mode %s, %d switches", v, r.Mode, r.Switches)
		}
	case calls.PathReply:
		pushes := v.Write
		if r.Fabric == "shm" {
			// Until the server has mapped the client's memory, which takes a moment
			// after the first push, the client READs what it expects.
			pushes += v.Read
		}
		if pushes < 1.8*frames || r.Mode != "reply" || r.Switches != 0 {
			t.Errorf("replying, and %+v, mode %s, %d switches", v, r.Mode, r.Switches)
		}
	}
}

// Every path runs on every fabric and does exactly as many calls as it was asked
// for, each with the right result.
func TestEveryPathOnEveryFabric(t *testing.T) {
	for _, name := range []string{"loop", "shm", "tcp"} {
		t.Run(name, func(t *testing.T) {
			rows := check(t, calls.Config{
				Paths: calls.Paths(), Fabric: name, Windows: []int{1, 3}, Batches: []int{1, 4}, Sizes: []int{5, 32},
			})
			if len(rows) != 3*2*2*2 {
				t.Errorf("%d rows", len(rows))
			}
			for _, r := range rows {
				if r.ClientCPU == nil || r.ServerCPU == nil {
					t.Errorf("%s: nobody knows the CPU time", r.Path)
				}
			}
		})
	}
}

func TestParameters(t *testing.T) {
	for name, cfg := range map[string]calls.Config{
		"result larger":   {Sizes: []int{16}, ResultSize: 1000},
		"result smaller":  {Sizes: []int{1000}, ResultSize: 3},
		"many frames":     {Sizes: []int{9000}, ResultSize: 12000, Windows: []int{4}, Ops: 50},
		"more than fits":  {Batches: []int{96}, Windows: []int{2}},
		"short READs":     {FetchSize: 16, Retries: 2},
		"nothing spared":  {NoInline: true, SignalAll: true, Windows: []int{5}},
		"busy":            {Poll: fabric.Busy},
		"process time":    {Paths: calls.Paths(), ProcessTimes: []time.Duration{time.Microsecond, 20 * time.Microsecond}, Ops: 100},
		"many clients":    {Clients: 5, Threads: 2, Windows: []int{2}, Cores: 2},
		"threads":         {Clients: 3, Ops: 50},
		"connected":       {Clients: 2, Threads: 1, Connected: []int{0, 40}},
		"goroutines":      {Goroutines: 7, Clients: 2, Ops: 30},
		"many goroutines": {Goroutines: 80, Ops: 5},
		"chooses batch":   {Limit: time.Millisecond, Alpha: 0.1, Windows: []int{3}, Batches: []int{2}},
	} {
		for _, fab := range []string{"loop", "shm"} {
			cfg.Fabric = fab
			t.Run(name+"/"+fab, func(t *testing.T) { checkParameters(t, name, cfg) })
		}
	}
}

func checkParameters(t *testing.T, name string, cfg calls.Config) {
	if name != "more than fits" && name != "many frames" && name != "chooses batch" && cfg.Goroutines == 0 {
		check(t, cfg)
		return
	}
	// How many frames there are is not known beforehand.
	if cfg.Ops == 0 {
		cfg.Ops = testOps
	}
	report, err := calls.Run(t.Context(), cfg, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	r := report.Rows[0]
	if want := uint64(cfg.Ops * r.Clients * max(r.Goroutines, 1)); r.Ops != want || r.Errors != 0 || r.Samples == 0 {
		t.Errorf("%d calls, want %d; %+v", r.Ops, want, r)
	}
}

func TestTrials(t *testing.T) {
	rows := check(t, calls.Config{Trials: 3, Fabric: "loop", Batches: []int{1, 2}})
	if len(rows) != 6 {
		t.Fatalf("%d rows, want 3 trials of 2 cases", len(rows))
	}
	for i, r := range rows {
		if r.Trial != i%3+1 || r.Batch != i/3+1 {
			t.Errorf("row %d is trial %d of batch %d", i, r.Trial, r.Batch)
		}
	}
}

// By time, with a warm-up.
func TestDuration(t *testing.T) {
	for _, cfg := range []calls.Config{{Windows: []int{8}}, {Clients: 4, Threads: 1}, {Goroutines: 4}} {
		cfg.Fabric, cfg.Warmup, cfg.Duration = "shm", time.Millisecond, 5*time.Millisecond
		report, err := calls.Run(t.Context(), cfg, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		if r := report.Rows[0]; r.Seconds < 0.005 || r.Ops == 0 {
			t.Errorf("%d calls in %v s, asked for 5 ms", r.Ops, r.Seconds)
		}
	}
}

func TestADeadServerSaysWhatItWrote(t *testing.T) {
	_, err := calls.Run(t.Context(), calls.Config{Ops: 1}, envOf(benchtest.Broken))
	if err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "server process ended") {
		t.Errorf("a server that died gave %v", err)
	}
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Server = []string{filepath.Join(t.TempDir(), "missing")}
	_, err := calls.Run(t.Context(), calls.Config{Ops: 1}, env)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing server gave %v", err)
	}
}

func TestMistakesOfTheUser(t *testing.T) {
	for want, cfg := range map[string]calls.Config{
		"carrier-pigeon":               {Fabric: "carrier-pigeon"},
		`"herd" is unknown`:            {Paths: []string{"herd"}},
		"--size 0":                     {Sizes: []int{0}},
		"--window 5000":                {Windows: []int{5000}},
		"--batch -1":                   {Batches: []int{-1}},
		"--connected -1":               {Connected: []int{-1}},
		"--process-time":               {ProcessTimes: []time.Duration{time.Hour}},
		"--threads 3":                  {Clients: 2, Threads: 3},
		"--alpha is the share":         {Alpha: 0.1},
		"--fetch-size 8":               {FetchSize: 8},
		"--result-size -4":             {ResultSize: -4},
		"must not be negative":         {Duration: -1},
		"--goroutines 1000000":         {Goroutines: 1e6},
		"--trials -1 is not between 1": {Trials: -1},
		"use own, one":                 {Placements: []string{"two"}},
	} {
		report, err := calls.Run(t.Context(), cfg, envOf(benchtest.Server))
		if !errors.Is(err, bench.ErrUsage) || !strings.Contains(fmt.Sprint(err), want) || len(report.Rows) != 0 {
			t.Errorf("%+v gave %v, want %q", cfg, err, want)
		}
	}
}

// A run that is cancelled ends with what it has, and leaves nothing behind.
func TestCancel(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for name, cfg := range map[string]calls.Config{
		"one":        {},
		"many":       {Clients: 3, Threads: 1},
		"goroutines": {Goroutines: 3},
		"loop":       {Fabric: "loop"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			env := envOf(benchtest.Server)
			env.Progress = func(p bench.Progress) {
				if p.Trial == 1 {
					cancel()
				}
			}
			cfg.Duration = time.Hour
			_, err := calls.Run(ctx, cfg, env)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled, and got %v", err)
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
