package kvl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
)

// The test binary is also the servers that the tests start.
func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return Serve(context.Background(), provider.New(), os.Stdin, os.Stdout, os.Stderr) },
		roleHelper:       func() error { return host.Help(context.Background(), os.Stdin, os.Stdout) },
	})
}

// roleHelper is a process beside those that are measured.
const roleHelper = "helper"

func envOf() Env {
	argv := benchtest.Self(benchtest.Server)
	helper := benchtest.Self(roleHelper)
	return Env{Providers: provider.New(), Server: argv, Helper: helper}
}

// All applications have the same results by all paths, which a run compares itself.
func TestRun(t *testing.T) {
	for _, fabric := range []string{provider.Loop, provider.Shm, provider.TCP} {
		t.Run(fabric, func(t *testing.T) {
			cfg := Config{Fabric: fabric, Scale: 0.001, Ops: 30, Trials: 2, MemcachedUsers: 100, Window: 5}
			if fabric != provider.Shm {
				cfg.Paths = []string{PathLinks, PathLinksOne, PathLinksTwo, PathLookup, PathRFP, PathRFPOne, PathBatch}
			}
			env := envOf()
			var lines bytes.Buffer
			env.Row = func(r Row) error { return json.NewEncoder(&lines).Encode(r) }
			r, err := Run(t.Context(), cfg, env)
			if err != nil {
				t.Fatal(err)
			}
			paths, alone := 5, 4 // alone are those of a search only
			if cfg.Paths != nil {
				paths, alone = 4, 3
			}
			if want := 2 * (4*(paths-1) + alone); len(r.Rows) != want {
				t.Errorf("%d rows, want %d", len(r.Rows), want)
			}
			for i := range r.Rows {
				checkRow(t, &r.Rows[i])
				var again Row
				line, _ := lines.ReadBytes('\n')
				if err := json.Unmarshal(line, &again); err != nil || again.App != r.Rows[i].App || again.Ops != r.Rows[i].Ops {
					t.Errorf("row became %q, %v", line, err)
				}
			}
			checkTexts(t, r, paths-1+alone)
		})
	}
}

func checkRow(t *testing.T, r *Row) {
	t.Helper()
	if r.Items == 0 || r.Seconds <= 0 || r.OpsPerSec <= 0 || r.Mean <= 0 || r.P50 <= 0 || r.P95 < r.P50 || r.P99 < r.P95 {
		t.Errorf("numbers that cannot be: %+v", r)
	}
	isMemcached := strings.HasPrefix(r.Path, PathMemcached)
	switch {
	case strings.HasSuffix(r.Path, one) != (r.Window == 1):
		t.Errorf("a window of %d: %+v", r.Window, r)
	case r.App != AppSearch && r.Ops != 30:
		t.Errorf("%d operations: %+v", r.Ops, r)
	case r.App == AppSearch && isMemcached && r.Ops != 100:
		t.Errorf("%d users: %+v", r.Ops, r)
	case r.App == AppSearch && !isMemcached && (r.Ops < 500 || uint64(r.Edges) < 10*r.Ops):
		t.Errorf("%d users, %d edges: %+v", r.Ops, r.Edges, r)
	}
}

// checkTexts checks the table, the CSV and the figure.
func checkTexts(t *testing.T, r *Report, searches int) {
	t.Helper()
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), "\nsearch "); n != searches || !strings.Contains(table.String(), "links are faster by") {
		t.Errorf("%d lines of search in\n%s", n, &table)
	}
	var svg strings.Builder
	if err := r.Picture().WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"<svg", "search", "rfp"} {
		if !strings.Contains(svg.String(), words) {
			t.Errorf("%q is not in the figure", words)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, cfg := range []Config{
		{Apps: []string{"game"}},
		{Paths: []string{"walk"}},
		{Scale: -1},
		{Scale: 99},
		{Window: -1},
		{Ops: -1},
		{Trials: -1},
		{Fabric: "ether"},
		{Placements: []string{"two"}},
		{Placements: []string{"quota=50%"}, Fabric: provider.Loop},
	} {
		if _, err := Run(t.Context(), cfg, envOf()); !errors.Is(err, bench.ErrUsage) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// A result that is not that of the others is an error (M1).
func TestResultsAreCompared(t *testing.T) {
	a := &run{runner: &runner{}, c: &Case{App: AppPage, Path: PathLinks}}
	b := &run{runner: a.runner, c: &Case{App: AppPage, Path: PathRFP}}
	a.sum, b.sum = newSum(), newSum()
	for _, text := range []string{"one", "two"} {
		a.add([]byte(text))
	}
	for _, text := range []string{"two", "one"} {
		b.add([]byte(text))
	}
	if a.sum == b.sum || a.comparable() != b.comparable() {
		t.Error("another order is the same")
	}
}
