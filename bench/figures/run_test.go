package figures_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/figures"
	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/scale"
)

// tiny measures next to nothing of everything.
func tiny(name string, only ...int) figures.Config {
	return figures.Config{Fabric: name, Only: only, Duration: time.Millisecond, Warmup: -1, Trials: 1, Table: 64 << 10}
}

// Every figure, from end to end: each point is measured, or larger than what goes
// inline, and the files hold all of them.
func TestEveryFigure(t *testing.T) {
	for _, name := range []string{"loop", "shm"} {
		t.Run(name, func(t *testing.T) {
			rows := 0
			env := envOf(benchtest.Server)
			env.Row = func(figures.Row) error { rows++; return nil }
			cfg, want := tiny(name), 6
			if name != "loop" && !scale.Soak() {
				cfg, want = tiny(name, 5), 1 // bench/perf runs everything on every fabric
			}
			r, err := figures.Run(t.Context(), cfg, env)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Figures) != want || len(r.Notes) == 0 {
				t.Fatalf("%d figures, %d notes", len(r.Figures), len(r.Notes))
			}
			points := 0
			for i := range r.Figures {
				points += len(r.Figures[i].Points)
				checkOutcomes(t, &r.Figures[i])
			}
			if rows != points {
				t.Errorf("%d rows were told, want one for each of %d points", rows, points)
			}
			dir := t.TempDir()
			if err := r.Write(dir); err != nil {
				t.Fatal(err)
			}
			checkFiles(t, dir, r)
		})
	}
}

func checkOutcomes(t *testing.T, m *figures.Measured) {
	t.Helper()
	for _, o := range m.Outcomes {
		switch {
		case o.Reason == "" && len(o.Failures) == 0 && len(o.Rows) == 1 && o.Rows[0].OpsPerSec > 0 && o.Rows[0].P50 > 0:
		case strings.Contains(o.Reason, "takes at most") && o.Config.Sizes[0] > 256 && len(o.Rows) == 0:
		default:
			t.Errorf("figure %d, %s at %v: %d rows, %q", m.Number, o.Series, o.X, len(o.Rows), o.Reason)
		}
	}
}

func checkFiles(t *testing.T, dir string, r *figures.Report) {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	index := string(read(figures.IndexName))
	names := []string{figures.IndexName}
	for i := range r.Figures {
		m := &r.Figures[i]
		names = append(names, m.CSVName(), m.SVGName())
		rows, err := csv.NewReader(bytes.NewReader(read(m.CSVName()))).ReadAll()
		if err != nil || len(rows) != 1+len(m.Points) {
			t.Errorf("%s: %d rows of %d points, %v", m.CSVName(), len(rows)-1, len(m.Points), err)
		}
		for d := xml.NewDecoder(bytes.NewReader(read(m.SVGName()))); ; {
			if _, err := d.Token(); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", m.SVGName(), err)
				}
				break
			}
		}
		if !strings.Contains(index, m.SVGName()) || !strings.Contains(index, m.CSVName()) {
			t.Errorf("the index does not lead to figure %d", m.Number)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != len(names) {
		t.Errorf("%d files, want %q: %v", len(left), names, err)
	}
}

// R2: every point is measured once before any is measured again.
func TestTrialsAreInterleaved(t *testing.T) {
	cfg := tiny("loop", 5)
	cfg.Trials = 2
	var told []string
	env := envOf(benchtest.Server)
	env.Row = func(r figures.Row) error {
		told = append(told, r.Series+r.X)
		return nil
	}
	var last perf.Progress
	env.Progress = func(p perf.Progress) { last = p }
	if _, err := figures.Run(t.Context(), cfg, env); err != nil {
		t.Fatal(err)
	}
	if len(told) != 24 || !slices.Equal(told[:12], told[12:]) || slices.Contains(told[1:12], told[0]) {
		t.Errorf("measured in the order %q", told)
	}
	if last.Case != 12 || last.Cases != 12 || last.Trial != 2 || last.Trials != 2 || !strings.HasPrefix(last.Name, "figure 5, ") {
		t.Errorf("the last that was told is %+v", last)
	}
}

// reliable opens devices that know RC and nothing else.
type reliable struct{ *provider.Set }

type rcOnly struct{ fabric.Device }

func (d rcOnly) Limits() fabric.Limits {
	l := d.Device.Limits()
	l.UC, l.UD = false, false
	return l
}

func (s reliable) Open(name string) (fabric.Device, error) {
	d, err := s.Set.Open(name)
	return rcOnly{d}, err
}

// R1: what a fabric cannot do has a reason and no number.
func TestAFabricThatCannotSaysSo(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Perf.Providers = reliable{provider.New()}
	r, err := figures.Run(t.Context(), tiny("loop", 5), env)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Figures[0].Outcomes {
		can := o.Config.Transport == "rc"
		if can != (len(o.Rows) == 1) || can != (o.Reason == "") || (!can && !strings.Contains(o.Reason, "loop has no u")) {
			t.Errorf("%s at %s over %s: %d rows, %q", o.Series, o.Group, o.Config.Transport, len(o.Rows), o.Reason)
		}
	}
}

// R3: a point that fails is a row that says why, and an error at the end.
func TestAPointThatFailsDoesNotEndTheRun(t *testing.T) {
	r, err := figures.Run(t.Context(), tiny("shm", 5), envOf(benchtest.Broken))
	if err == nil || !strings.Contains(err.Error(), "12 of 12 trials failed") || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("servers that died gave %v", err)
	}
	for _, o := range r.Figures[0].Outcomes {
		if len(o.Rows) != 0 || len(o.Failures) != 1 || !strings.Contains(o.Failures[0], "failed: ") {
			t.Errorf("%s: %d rows, %q", o.Series, len(o.Rows), o.Failures)
		}
	}
}

// What was measured until a run is cancelled is not lost.
func TestCancelledRunsKeepWhatTheyHave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := envOf(benchtest.Server)
	env.Row = func(figures.Row) error { cancel(); return nil }
	r, err := figures.Run(ctx, tiny("loop", 5), env)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, and got %v", err)
	}
	if done, all := r.Figures[0].Count(); done != 1 || all != 12 {
		t.Errorf("%d of %d points", done, all)
	}
	if err := r.Write(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestUnknownFabricIsAMistakeOfTheUser(t *testing.T) {
	if _, err := figures.Run(t.Context(), tiny("carrier-pigeon"), envOf(benchtest.Server)); !errors.Is(err, perf.ErrUsage) {
		t.Errorf("an unknown fabric gave %v", err)
	}
}

func TestPrepareFindsMistakesEarly(t *testing.T) {
	dir := t.TempDir()
	if err := figures.Prepare(filepath.Join(dir, "new", "deep")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := figures.Prepare(file); err == nil {
		t.Error("a file was taken for a directory")
	}
}
