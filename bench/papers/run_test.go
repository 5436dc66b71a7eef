package papers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/test/benchtest"
)

// echoes is a figure of 12 points that bench verbs measures.
func echoes(t *testing.T) Figure {
	t.Helper()
	f, err := Find("herd-fig5")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tiny measures next to nothing.
func tiny(fabric string) Size {
	s := Default(2)
	s.Fabric, s.Duration, s.Warmup, s.Trials, s.Table = fabric, time.Millisecond, 0, 1, 64<<10
	return s
}

func envOf(role string) Env {
	argv := benchtest.Self(role)
	return Env{Verbs: verbs.Env{Providers: provider.New(), Server: argv}}
}

// P2: every point is measured once before any is measured again.
func TestTrialsAreInterleaved(t *testing.T) {
	s := tiny("loop")
	s.Trials = 2
	var told []string
	env := envOf(benchtest.Server)
	env.Row = func(r Row) error {
		told = append(told, r.Series+r.X)
		return nil
	}
	var last bench.Progress
	env.Progress = func(p bench.Progress) { last = p }
	r, err := Run(t.Context(), echoes(t), s, env)
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 24 || slices.Equal(told[:12], told[12:]) {
		t.Fatalf("measured in the order %q", told)
	}
	slices.Sort(told[:12])
	slices.Sort(told[12:])
	if !slices.Equal(told[:12], told[12:]) || len(slices.Compact(told[:12])) != 12 {
		t.Errorf("the rounds have %q", told)
	}
	if last.Case != 12 || last.Cases != 12 || last.Trial != 2 || last.Trials != 2 {
		t.Errorf("the last that was told is %+v", last)
	}
	if len(r.Rows) != 24 || r.Rows[0].Preset != "herd-fig5" || r.Rows[0].Figure != "Figure 5" || r.Rows[0].OpsPerSec <= 0 || len(r.Notes) == 0 {
		t.Errorf("%d rows, %d notes, the first row is %+v", len(r.Rows), len(r.Notes), r.Rows[0])
	}
	if first, last := r.Rows[0], r.Rows[len(r.Rows)-1]; first.Series != r.names[0] || first.X != r.xs[0] || last.Series != r.names[len(r.names)-1] || last.X != r.xs[len(r.xs)-1] {
		t.Errorf("rows begin with %s at %s and end with %s at %s", first.Series, first.X, last.Series, last.X)
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

// P4: what a fabric cannot do has a reason and no number.
func TestAFabricThatCannotSaysSo(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Verbs.Providers = reliable{provider.New()}
	s := tiny("loop")
	s.Trials = 2
	r, err := Run(t.Context(), echoes(t), s, env)
	if err != nil || len(r.Rows) != 2*3 || len(r.Missing) != 9 {
		t.Fatalf("%v: %d rows, %d are missing", err, len(r.Rows), len(r.Missing))
	}
	for _, m := range r.Missing {
		if m.Series == "basic" || !m.Impossible || !strings.Contains(m.Reason.Error(), "loop has no u") {
			t.Errorf("%+v", m)
		}
	}
}

// P4: a trial that fails does not end the run, and is an error at its end.
func TestAPointThatFailsDoesNotEndTheRun(t *testing.T) {
	r, err := Run(t.Context(), echoes(t), tiny("shm"), envOf(benchtest.Broken))
	if err == nil || !strings.Contains(err.Error(), "12 of 12 trials failed") || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("servers that died gave %v", err)
	}
	if r == nil || len(r.Missing) != 12 || r.Missing[0].Impossible {
		t.Errorf("%+v", r)
	}
}

// What was measured until a run is cancelled is not lost.
func TestCancelledRunsKeepWhatTheyHave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := envOf(benchtest.Server)
	env.Row = func(Row) error { cancel(); return nil }
	r, err := Run(ctx, echoes(t), tiny("loop"), env)
	if !errors.Is(err, context.Canceled) || len(r.Rows) != 1 {
		t.Errorf("cancelled, and got %v, %d rows", err, len(r.Rows))
	}
}

func TestUnknownFabricIsAMistakeOfTheUser(t *testing.T) {
	if _, err := Run(t.Context(), echoes(t), tiny("carrier-pigeon"), envOf(benchtest.Server)); !errors.Is(err, bench.ErrUsage) {
		t.Errorf("an unknown fabric gave %v", err)
	}
}

// Warnings that differ in their numbers alone are one.
func TestWarningsAreCounted(t *testing.T) {
	var r Report
	for _, s := range []string{"trials differ by 12 %", "crowded", "trials differ by 40 %", "trials differ by 12 %", "crowded"} {
		r.warn(s)
	}
	r.finish()
	want := []string{"trials differ by 12 % (the first of 3 such warnings; rows have all)", "crowded (the first of 2 such warnings; rows have all)"}
	if !slices.Equal(r.Warnings, want) {
		t.Errorf("%q", r.Warnings)
	}
}

// P5: the trials of a point, of which each is a run, are judged together.
func TestTrialsOfAPointAreJudged(t *testing.T) {
	var r Report
	for _, rate := range []float64{100, 300, 100} {
		var said bench.Remarks
		m := bench.Measure{OpsPerSec: rate}
		bench.NewWatch(&said, cycles.Calibrate(), nil).Trial(&m, &bench.Trial{Title: "gets"})
		rowsOf(&r, &Point{Series: "HERD", X: "8"}, &said, []bench.Measure{m}, func(m *bench.Measure) Row { return Row{Measure: *m} })
	}
	r.finish()
	if w := strings.Join(r.Warnings, "|"); !strings.Contains(w, "200 % (HERD 8: gets)") || !strings.Contains(r.Verdict(), "differ by 200 %") {
		t.Errorf("%q, %q", w, r.Verdict())
	}
}
