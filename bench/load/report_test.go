package load

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// tallyOf is that of a worker with latencies from..to, of a run that lasted so many ticks.
func tallyOf(from, to, ticks uint64, scale cycles.Scale) Tally {
	var stop atomic.Bool
	m := newMeter(Budget{Ops: 1}, scale, &stop, 0, 0, 1)
	for v := from; v < to; v++ {
		m.Record(v * v)
		m.Ops++
	}
	m.Gets, m.Misses, m.CPU = m.Ops/2, m.Ops/4, time.Duration(scale.Nanos(ticks))/2
	m.Refused("late", errors.New("too late"))
	m.start, m.end = 1000, 1000+ticks
	m.history.begin(1000, 100)
	m.history.look(1000+ticks, m.Ops)
	var t Tally
	t.add(m)
	return t
}

// wired is a report after its way.
func wired(t *testing.T, r *Report) *Report {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var out Report
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// Tallies that were sent and merged are what they would have been in one process: the same
// percentiles to the last digit, which averages are not.
func TestMergeIsExact(t *testing.T) {
	scale := cycles.Calibrate()
	a, b := tallyOf(1, 900, 5000, scale), tallyOf(500, 3000, 5000, scale)
	sum, err := Merge([]*Report{wired(t, a.Report(scale)), wired(t, b.Report(scale))}, true, scale)
	if err != nil {
		t.Fatal(err)
	}
	want := tallyOf(1, 900, 5000, scale)
	want.hist.Merge(b.hist)
	want.samples += b.samples
	if got, want := sum.Latencies(scale), want.Latencies(scale); got != want {
		t.Errorf("merged %+v, want %+v", got, want)
	}
	if sum.Ops != a.Ops+b.Ops || sum.Gets != a.Gets+b.Gets || sum.Misses != a.Misses+b.Misses || sum.Errors != 2 || sum.Kinds["late"] != 2 || sum.Why == nil {
		t.Errorf("%+v", sum)
	}
	rate, cpu := a.Rate(scale)+b.Rate(scale), a.CPU+b.CPU
	if got := sum.Rate(scale); math.Abs(got-rate) > rate*1e-3 || (sum.CPU-cpu).Abs() > cpu/1000+2 {
		t.Errorf("%g a second with %v of CPU, want %g with %v", got, sum.CPU, rate, cpu)
	}
	a.history.add(&b.history)
	if !slices.Equal(sum.Timeline(scale).Ops, a.Timeline(scale).Ops) {
		t.Errorf("the timeline is %v, want %v", sum.Timeline(scale).Ops, a.Timeline(scale).Ops)
	}
}

// A machine whose counter is twice as fast has the same latencies in twice as many ticks; and
// who took longer has a rate of its own, unless they did not work together.
func TestMergeOfOtherClocks(t *testing.T) {
	scale := cycles.Calibrate()
	here := tallyOf(100, 1000, 10_000, scale)
	there := here.Report(scale)
	there.PerSecond *= 2
	there.Ticks *= 4 // twice as long
	for i := 0; i < len(there.Latencies); i += 2 {
		there.Latencies[i] *= 2
	}
	reports := []*Report{here.Report(scale), there}
	sum, err := Merge(reports, true, scale)
	if err != nil {
		t.Fatal(err)
	}
	one, both := here.Latencies(scale), sum.Latencies(scale)
	if math.Abs(both.P50/one.P50-1) > 0.01 || math.Abs(both.P99/one.P99-1) > 0.01 {
		t.Errorf("%+v became %+v", one, both)
	}
	if got, want := sum.Rate(scale), 1.5*here.Rate(scale); math.Abs(got/want-1) > 0.01 {
		t.Errorf("together %g a second, want %g", got, want)
	}
	if sum, err = Merge(reports, false, scale); err != nil || math.Abs(sum.Rate(scale)/here.Rate(scale)-1) > 0.01 {
		t.Errorf("each on its own: %g a second, want %g, %v", sum.Rate(scale), here.Rate(scale), err)
	}
}

// Intervals of which two became one in one of the processes.
func TestMergeOfHalvedIntervals(t *testing.T) {
	scale := cycles.Calibrate()
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		tallies := [2]Tally{tallyOf(1, 500, 6000, scale), tallyOf(1, 500, 6000, scale)}
		tallies[1].history.halve()
		sum, err := Merge([]*Report{tallies[order[0]].Report(scale), tallies[order[1]].Report(scale)}, true, scale)
		if err != nil {
			t.Fatal(err)
		}
		line := sum.Timeline(scale)
		if n := len(line.Ops); n != 30 || line.Ops[3] != 2*tallies[1].history.ops[3] {
			t.Errorf("%d intervals: %v", n, line.Ops)
		}
	}
}

func TestReportsThatCannotBe(t *testing.T) {
	scale := cycles.Calibrate()
	for name, spoil := range map[string]func(*Report){
		"no clock":           func(r *Report) { r.PerSecond = 0 },
		"a clock of nothing": func(r *Report) { r.PerSecond = math.NaN() },
		"no time":            func(r *Report) { r.Ticks = 0 },
		"endless":            func(r *Report) { r.Ticks = math.MaxUint64 },
		"too many misses":    func(r *Report) { r.Misses = r.Gets + 1 },
		"negative CPU":       func(r *Report) { r.CPU = -1 },
		"half a pair":        func(r *Report) { r.Latencies = r.Latencies[1:] },
		"negative latency":   func(r *Report) { r.Latencies[0] = -1 },
		"endless latency":    func(r *Report) { r.Latencies[0] = math.MaxInt64 },
		"none of a latency":  func(r *Report) { r.Latencies[1] = 0 },
		"too many latencies": func(r *Report) { r.Latencies[1] = 2*int64(r.Ops) + 1 },
		"digits":             func(r *Report) { r.Digits = 9 },
		"intervals":          func(r *Report) { r.Intervals = make([]uint64, 1000) },
		"no interval":        func(r *Report) { r.EveryMillis = 0 },
	} {
		tally := tallyOf(1, 100, 5000, scale)
		r := tally.Report(scale)
		spoil(r)
		if sum, err := Merge([]*Report{r}, true, scale); !errors.Is(err, ErrReport) {
			t.Errorf("%s: %+v, %v", name, sum, err)
		}
	}
}
