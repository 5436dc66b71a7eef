package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// D13: a row whose mean does not fit its rate says so with the numbers, unless there is a reason.
func TestLittle(t *testing.T) {
	closed := Conditions{InFlight: 16, Callers: 1}
	loop := Conditions{InFlight: 1, Callers: 1, Alone: 5e6}
	for _, tc := range []struct {
		name, want string
		how        Conditions
		rate, mean float64
		every      int
	}{
		{"fits", "", closed, 1e6, 16, 16},
		{"nearly fits", "", closed, 1e6, 14.6, 16},
		{"missed", "mean x rate is 0.4 of the 16 operations in flight (rfp): one operation in 16 was timed, and stalls lie between those", closed, 1e6, 6.4, 16},
		{"overrated", "mean x rate is 2.1 of the 16 operations in flight (rfp): one operation in 16 was timed, and stalls met more", closed, 1e6, 33.6, 16},
		{"all timed", "were not in flight all the time", closed, 1e6, 6.4, 1},
		{"more in flight", "more in flight than asked for", closed, 1e6, 33.6, 1},
		{"far more", "mean x rate is 460 of the 16", closed, 1e6, 7360, 1},
		{"open", "", Conditions{InFlight: 16, Open: true}, 1e6, 1, 1},
		{"nobody knows", "", Conditions{}, 1e6, 1, 16},
		{"a fifth is the caller's", "", loop, 1e6, 0.75, 1},
		{"more than that is missing", "mean x rate is 0.55", loop, 1e6, 0.55, 16},
		{"as short as the clock", "", loop, 1e7, 0.02, 16},
	} {
		var r Remarks
		w := NewWatch(&r, cycles.Calibrate(), nil)
		m := Measure{Ops: 1e6, Samples: 1e5, OpsPerSec: tc.rate, Mean: tc.mean, TimedEvery: tc.every, ClockNanos: 10}
		w.Trial(&m, &Trial{Conditions: tc.how, Title: "rfp"})
		w.End()
		row, report := strings.Join(m.Warnings, "|"), strings.Join(r.Warnings, "|")
		if (tc.want != "") != strings.Contains(row, "in flight") || !strings.Contains(row, tc.want) || !strings.Contains(report, tc.want) {
			t.Errorf("%s: the row says %q, the report %q, want %q", tc.name, row, report, tc.want)
		}
	}
}

// Of several rows the report names the one that is farthest off.
func TestLittleOfTheWorst(t *testing.T) {
	var r Remarks
	w := NewWatch(&r, cycles.Calibrate(), nil)
	for _, mean := range []float64{0.7, 0.3, 1.6} {
		m := Measure{Ops: 1e6, Samples: 1e5, OpsPerSec: 1e6, Mean: mean, TimedEvery: 16}
		w.Trial(&m, &Trial{Conditions: Conditions{InFlight: 1}})
	}
	w.End()
	if all := strings.Join(r.Warnings, "|"); strings.Count(all, "mean x rate") != 1 || !strings.Contains(all, "mean x rate is 0.3") {
		t.Errorf("the report warns of %q", r.Warnings)
	}
}

// D14: a stall is a gap in the time line.
func TestStalls(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		ops        []uint64
	}{
		{"steady", "", []uint64{50, 40, 50, 60, 50, 50, 50, 50, 50, 50}},
		{"a gap", "nothing ended during 30 % of a trial, for up to 20 ms at a stretch", []uint64{50, 0, 0, 60, 50, 0, 50, 50, 50, 50}},
		{"the end is no gap", "", []uint64{50, 60, 50, 50, 50, 50, 50, 50, 50, 0}},
		{"rare operations", "", []uint64{1, 0, 0, 1, 0, 0, 1, 0, 0, 1}},
	} {
		var r Remarks
		w := NewWatch(&r, cycles.Calibrate(), nil)
		m := Measure{Samples: 1e5, Timeline: &load.Timeline{EveryMillis: 10, Ops: tc.ops}}
		w.Trial(&m, &Trial{})
		w.End()
		row, report := strings.Join(m.Warnings, "|"), strings.Join(r.Warnings, "|")
		if strings.Contains(row, "nothing ended") != (tc.want != "") || !strings.Contains(row, tc.want) || !strings.Contains(report, tc.want) {
			t.Errorf("%s: the row says %q, the report %q, want %q", tc.name, row, report, tc.want)
		}
	}
}

// D14: what shares its CPUs on purpose stands still because of that, and hides no other row that
// does.
func TestStallsOfAPlacement(t *testing.T) {
	quota, err := host.ParseSharing("quota=5%")
	if err != nil {
		t.Fatal(err)
	}
	var r Remarks
	w := NewWatch(&r, cycles.Calibrate(), nil)
	for _, s := range []host.Sharing{{}, quota} {
		m := Measure{Samples: 1e5, Timeline: &load.Timeline{EveryMillis: 10, Ops: []uint64{50, 0, 0, 60, 50, 0, 50, 50, 50, 50}}}
		w.Trial(&m, &Trial{Conditions: Conditions{Place: host.Placement{Sharing: s}}})
	}
	w.End()
	all := strings.Join(r.Warnings, "|")
	if strings.Count(all, "nothing ended") != 2 || !strings.Contains(all, "in the placement quota=5% ") || !strings.Contains(all, "did not run") {
		t.Errorf("warned of %q", all)
	}
}

// D15: max is of all operations, or is not there.
func TestMaxIsOfAll(t *testing.T) {
	scale := cycles.Calibrate()
	for _, timed := range []bool{true, false} {
		sum, err := load.Run(t.Context(), []load.Worker{once(timed)}, load.Budget{Ops: 2}, scale, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m := MeasureOf(&sum, 1, 1, scale); (m.Max != nil) != timed {
			t.Errorf("both timed is %t, and the maximum %v", timed, m.Max)
		}
	}
}

// once is a worker that does two operations, and times both or one.
type once bool

func (all once) Run(_ context.Context, m *load.Meter) error {
	m.Record(100)
	if all {
		m.Record(200)
	}
	m.Ops = 2
	m.End()
	return nil
}
