package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// fine is a row that nobody has doubts about.
func fine() Measure {
	return Measure{OpsPerSec: 1e6, Samples: tailSamples, P999: 2, Timeline: &load.Timeline{EveryMillis: 10, Ops: []uint64{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}}}
}

// trialOf is one of a benchmark that has used its CPUs alone, but for what others have done.
func trialOf(seconds, others, stolen float64) *Trial {
	at := func(t, busy, stolen float64) Counters {
		d := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
		server := d(7 + t)
		return Counters{Time: time.Unix(1e9, 0).Add(d(t)), Client: d(5 + t), Server: &server, CPUs: &host.Use{Busy: d(100 + busy), Stolen: d(1 + stolen)}}
	}
	return &Trial{Title: "rfp", Before: at(0, 0, 0), After: at(seconds, 2*seconds+others, stolen)}
}

// D5, D8, D11: each doubt is provoked, alone, and a row without any stays silent.
func TestTrialDoubts(t *testing.T) {
	scale := cycles.Calibrate()
	open, blind := trialOf(1, 0, 0), trialOf(1, 0.5, 0)
	open.Open, blind.After.CPUs = true, nil
	loop := trialOf(1, 0, 0)
	loop.Before.Server, loop.After.Server, loop.Loop = nil, nil, true
	placed := trialOf(1, 0.5, 0)
	placed.After.Neighbours = 500 * time.Millisecond
	elsewhere := trialOf(1, 0, 0)
	elsewhere.Before.Server, elsewhere.After.Server = nil, nil
	remote, busy := trialOf(1, -1, 0), trialOf(1, -0.5, 0) // the second of the server was used elsewhere
	remote.Remote, busy.Remote = true, true
	for _, tc := range []struct {
		name, want string
		trial      *Trial
		change     func(*Measure)
	}{
		{"fine", "", trialOf(1, 0.05, 0.05), nil},
		{"few samples", "fewer than 10000", trialOf(1, 0, 0), func(m *Measure) { m.Samples-- }},
		{"few samples, and no p99.9", "", trialOf(1, 0, 0), func(m *Measure) { m.Samples, m.P999 = 1, 0 }},
		{"slow third", "the warm-up was too short", trialOf(1, 0, 0), func(m *Measure) { m.Timeline.Ops[0], m.Timeline.Ops[1] = 7, 8 }},
		{"slow third of an open loop", "", open, func(m *Measure) { m.Timeline.Ops[0], m.Timeline.Ops[1] = 7, 8 }},
		{"slow later too", "", trialOf(1, 0, 0), func(m *Measure) { m.Timeline.Ops[0], m.Timeline.Ops[9] = 9, 8 }},
		{"up and down", "", trialOf(1, 0, 0), func(m *Measure) { m.Timeline.Ops[0], m.Timeline.Ops[4] = 1, 1 }},
		{"short time line", "", trialOf(1, 0, 0), func(m *Measure) { m.Timeline.Ops = []uint64{1, 10, 10} }},
		{"no time line", "", trialOf(1, 0, 0), func(m *Measure) { m.Timeline = nil }},
		{"others", "other processes", trialOf(1, 0.3, 0), nil},
		{"hypervisor", "hypervisor", trialOf(1, 0, 0.2), nil},
		{"too short to know", "", trialOf(0.1, 0.1, 0.1), nil},
		{"nobody knows", "", blind, nil},
		{"the server is in this process", "other processes", loop, nil}, // its CPU is ours once, and not twice
		{"the server is elsewhere", "", elsewhere, nil},
		{"neighbours as placed", "", placed, nil},
		{"the server is on another machine", "", remote, nil},
		{"the server is on another machine, and others are here", "other processes", busy, nil},
	} {
		var r Remarks
		w := &Watch{remarks: &r, scale: scale}
		m := fine()
		if tc.change != nil {
			tc.change(&m)
		}
		w.Trial(&m, tc.trial)
		if text := strings.Join(m.Warnings, "|"); (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) || len(m.Warnings) > 1 {
			t.Errorf("%s: %q instead of %q", tc.name, text, tc.want)
		}
		if strings.Join(m.Warnings, "|") != strings.Join(r.Warnings, "|") {
			t.Errorf("%s: the row says %q, the report %q", tc.name, m.Warnings, r.Warnings)
		}
	}
}

// A run beside a busy neighbour says at its top that it is not to be trusted and why, also when
// its trials are too short to be judged one by one; a quiet run does not.
func TestVerdict(t *testing.T) {
	const trial = 0.1
	scale := cycles.Calibrate()
	for _, tc := range []struct {
		name, want     string
		others, stolen float64
		rates          [][]float64 // of each case
	}{
		{"quiet", "", 0.005, 0.005, [][]float64{{100, 101, 102}, {100, 100, 140}, {90, 100, 91}}},
		{"neighbour", "other processes used 0.50 of a CPU", 0.05, 0, [][]float64{{100, 101, 102}, {100, 100, 140}, {90, 100, 91}}},
		{"hypervisor", "the hypervisor took 0.30 of a CPU", 0, 0.03, [][]float64{{100, 101, 102}, {100, 100, 140}, {90, 100, 91}}},
		{"no two rounds alike", "in half of the cases or more, trials differ by 40 % or more", 0, 0, [][]float64{{100, 101, 102}, {100, 100, 140}, {50, 100, 120}}},
	} {
		var r Remarks
		w := NewWatch(&r, scale, nil)
		for i, rates := range tc.rates {
			for _, rate := range rates {
				m, t := fine(), trialOf(trial, tc.others, tc.stolen)
				m.OpsPerSec, t.Case = rate, i
				w.Trial(&m, t)
			}
		}
		w.End()
		v := r.Verdict()
		if (v == "") != (tc.want == "") || !strings.Contains(v, tc.want) {
			t.Errorf("%s: %q instead of %q", tc.name, v, tc.want)
		}
		if top := r.Top(); v != "" && (len(top) == 0 || top[0] != v) {
			t.Errorf("%s: the verdict is not at the top of %q", tc.name, top)
		}
		if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "machine: remora") {
			t.Errorf("%s: the notes are %q", tc.name, r.Notes)
		}
	}
}

// D10: the case that differs most is named.
func TestTrialsThatDiffer(t *testing.T) {
	of := func(redis ...float64) *Remarks {
		var r Remarks
		r.rate("rfp", "", false, 100, 105, 100)
		r.rate("redis", "redis", false, redis...)
		r.rate("herd", "", false, 9)
		return &r
	}
	if got := unlike(of(130, 100, 100).spreads()); !strings.Contains(got, "30 % (redis)") || !strings.Contains(got, "quieter machine") {
		t.Errorf("of trials that differ: %q", got)
	}
	r := of(130, 100, 100)
	r.rates[1].shared = true
	if got := unlike(r.spreads()); !strings.Contains(got, "(redis)") || strings.Contains(got, "quieter machine") {
		t.Errorf("of trials that share a CPU on purpose: %q", got)
	}
	if got := unlike(of(100, 102).spreads()); got != "" {
		t.Errorf("of trials that do not: %q", got)
	}
}

// D9, D10, V2: trials that were runs of their own are judged together, those of each point.
func TestTrialsOfSeveralRuns(t *testing.T) {
	var all Remarks
	for _, rate := range []float64{100, 150, 100} {
		var part Remarks
		part.rate(1, "calls", false, rate)
		part.speeds.Add(rate)
		part.Judge()
		if len(part.Warnings)+len(part.Reasons) != 0 {
			t.Errorf("one trial says %q, %q", part.Warnings, part.Reasons)
		}
		all.Take(&part, "A 1")
		all.Take(&part, fmt.Sprint("B ", rate))
	}
	all.Judge()
	text := strings.Join(all.Warnings, "|")
	if !strings.Contains(text, "50 % (A 1: calls)") || !strings.Contains(text, "33 % slower") || !strings.Contains(all.Verdict(), "differ by 50 %") {
		t.Errorf("%q, %q", text, all.Verdict())
	}
}

// D9: what was counted before does not count.
func TestHeat(t *testing.T) {
	before := int64(5)
	if heat(nil, 5) != "" || heat(&before, 5) != "" || !strings.Contains(heat(&before, 8), "3 times") {
		t.Errorf("%q, %q, %q", heat(nil, 5), heat(&before, 5), heat(&before, 8))
	}
}
