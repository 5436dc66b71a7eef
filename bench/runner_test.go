package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// thing is a case that may fail to start.
type thing struct {
	name   string
	broken error
}

func (c *thing) Title() string { return c.name }

// record is what happened to targets, in order.
type record struct {
	events []string
	step   func() // called by each worker
}

// recorded is a target that writes down what is done with it.
type recorded struct {
	*record
	c *thing
}

func (t *recorded) note(what string)       { t.events = append(t.events, what+" "+t.c.name) }
func (t *recorded) Conditions() Conditions { return Conditions{Callers: 1} }

func (t *recorded) Start(context.Context) error {
	t.note("start")
	return t.c.broken
}

func (t *recorded) Workers(context.Context) ([]load.Worker, error) { return []load.Worker{t}, nil }

func (t *recorded) Run(_ context.Context, m *load.Meter) error {
	if t.step != nil {
		t.step()
	}
	for m.Ops < m.Limit && !m.Stopped() {
		m.Record(1)
		m.Ops++
	}
	m.End()
	if m.Stopped() {
		return load.ErrStopped
	}
	return nil
}

func (t *recorded) Counters(context.Context) (Counters, error) { return Counters{}, nil }

func (t *recorded) Row(trial *Trial) (string, error) {
	t.note("row")
	if trial.Tally.Ops == 0 || trial.After.Time.Before(trial.Before.Time) {
		return "", fmt.Errorf("%d operations", trial.Tally.Ops)
	}
	return fmt.Sprint(t.c.name, trial.Number), nil
}

func (t *recorded) Blame(err error) error { return fmt.Errorf("blamed: %w", err) }

func (t *recorded) Close() error {
	t.note("close")
	return nil
}

// runThings runs groups of two trials each, and returns what happened.
func runThings(ctx context.Context, t *testing.T, rec *record, r *Runner[thing, string], groups ...Group[thing]) error {
	t.Helper()
	return Run(ctx, r, groups, func(c *thing) Target[string] { return &recorded{rec, c} })
}

func newRunner(told *[]string) *Runner[thing, string] {
	env := Env[string]{Progress: func(p Progress) {
		*told = append(*told, fmt.Sprintf("%s %d/%d %d/%d", p.Name, p.Case, p.Cases, p.Trial, p.Trials))
	}}
	return NewRunner[thing](env, Times{Ops: 3, Trials: 2}, &Report[string]{})
}

func TestRunInterleavesTheCasesOfAGroup(t *testing.T) {
	var rec record
	var told []string
	r := newRunner(&told)
	if err := runThings(t.Context(), t, &rec, r, Group[thing]{Cases: []thing{{name: "a"}, {name: "b"}}}, Group[thing]{Cases: []thing{{name: "c"}}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a1", "b1", "a2", "b2", "c1", "c2"}; !slices.Equal(r.Report.Rows, want) {
		t.Errorf("rows %q, want %q", r.Report.Rows, want)
	}
	if want := "start a, start b, row a, row b, row a, row b, close a, close b, start c, row c, row c, close c"; strings.Join(rec.events, ", ") != want {
		t.Errorf("events %q, want %q", rec.events, want)
	}
	if want := []string{"a 1/6 0/2", "b 2/6 0/2", "a 1/6 1/2", "b 2/6 1/2", "a 3/6 2/2", "b 4/6 2/2", "c 5/6 0/2", "c 5/6 1/2", "c 6/6 2/2"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestRunStartsFreshServers(t *testing.T) {
	var rec record
	var told []string
	r := newRunner(&told)
	no := errors.New("no")
	r.Missing = func(_ *thing, err error) bool { return errors.Is(err, no) }
	cases := []thing{{name: "a"}, {"b", no}, {name: "c"}}
	if err := runThings(t.Context(), t, &rec, r, Group[thing]{Cases: cases, Fresh: true, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	rows := slices.Clone(r.Report.Rows)
	slices.Sort(rows)
	if want := []string{"a1", "a2", "c1", "c2"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	for i, e := range rec.events { // each is closed before the next is started
		if strings.HasPrefix(e, "start") && i > 0 && !strings.HasPrefix(rec.events[i-1], "close") {
			t.Errorf("events %q", rec.events)
		}
	}
	if n := strings.Count(strings.Join(rec.events, ","), "start b"); n != 1 {
		t.Errorf("a case that may be left out was started %d times", n)
	}
}

func TestRunSaysWhichCaseFailed(t *testing.T) {
	var rec record
	var told []string
	no := errors.New("no")
	err := runThings(t.Context(), t, &rec, newRunner(&told), alone([]thing{{name: "a"}, {"b", no}, {name: "c"}})...)
	if !errors.Is(err, no) || err.Error() != "b: no" {
		t.Errorf("a case that failed gave %v", err)
	}
	if n := len(rec.events); n == 0 || rec.events[n-1] != "close b" {
		t.Errorf("events %q", rec.events)
	}
}

// What a cancelled case fails with is a consequence.
func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rec := record{step: cancel}
	var told []string
	err := runThings(ctx, t, &rec, newRunner(&told), alone([]thing{{name: "a"}})...)
	if !errors.Is(err, context.Canceled) || err.Error() != "a: context canceled" {
		t.Errorf("a cancelled run gave %v", err)
	}
}

// A round has every case once, no two rounds need the same order, and the seed decides.
func TestOrderOfRounds(t *testing.T) {
	g := Group[thing]{Cases: make([]thing, 8), Seed: 7}
	other := g
	other.Seed = 8
	same, alike := true, true
	for round := 1; round <= 3; round++ {
		order := g.Order(round)
		same = same && slices.Equal(order, g.Order(1))
		alike = alike && slices.Equal(order, other.Order(round))
		if !slices.Equal(order, g.Order(round)) {
			t.Errorf("round %d has two orders", round)
		}
		slices.Sort(order)
		if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("round %d has %v", round, order)
		}
	}
	if same || alike {
		t.Errorf("all rounds have one order %v, two seeds the same %v", same, alike)
	}
}

// E5: where workers have others do a part, the client's CPU time is that of the process.
func TestTheCPUOfWorkersThatAreSpread(t *testing.T) {
	begin := time.Unix(1e9, 0)
	for _, spread := range []bool{false, true} {
		trial := &Trial{Conditions: Conditions{Pinned: true, Spread: spread}, scale: cycles.Calibrate()}
		trial.Before.Time, trial.After.Time, trial.After.Client = begin, begin.Add(time.Second), 1500*time.Millisecond
		var m Measure
		if trial.charge(&m); spread != (m.ClientCPU != nil && *m.ClientCPU == 150) {
			t.Errorf("spread %v: %v %%", spread, m.ClientCPU)
		}
	}
}
