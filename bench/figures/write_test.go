package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/perf"
)

// sample is a figure with a point of each sort: measured, impossible, failed and
// not reached.
func sample() Measured {
	row := func(trial int, rate float64) perf.Row {
		return perf.Row{
			Test: "read", Fabric: "shm", Transport: "rc", Size: 8, Window: 1, Threads: 2, QPs: 3, Measure: bench.Measure{Trial: trial, OpsPerSec: rate, P50: 1 / rate, P99: 9, Mean: 2},
			Lost: 4,
		}
	}
	point := func(series string) Point {
		return Point{Series: series, X: 8, Config: perf.Config{Tests: []string{"read"}, Fabric: "shm", Transport: "uc", Sizes: []int{8}}}
	}
	m := Measured{
		Figure: Figure{Number: 3, Title: "Rate", XLabel: "bytes", About: "About.", Paper: "Paper."},
		Fabric: "shm",
		Outcomes: []Outcome{
			{Point: point("a"), Rows: []perf.Row{row(1, 30), row(2, 10), row(3, 20)}, Failures: []string{failed + "once"}},
			{Point: point("b"), Reason: "shm has no uc"},
			{Point: point("c"), Failures: []string{failed + "broke, later"}},
			{Point: point("d")},
		},
	}
	for _, o := range m.Outcomes {
		m.Points = append(m.Points, o.Point)
	}
	return m
}

// R1: every point is a row; what was not measured has no number.
func TestCSVHoldsEveryPoint(t *testing.T) {
	m := sample()
	var b bytes.Buffer
	if err := m.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 || !slices.Equal(rows[0], columns) {
		t.Fatalf("%d rows, %v: %q", len(rows), err, rows)
	}
	get := func(row int, column string) string { return rows[row][slices.Index(columns, column)] }
	for column, want := range map[string]string{
		"figure": "3", "series": "a", "x": "8", "test": "read", "transport": "rc", "queue_pairs": "6", "trials": "3",
		"ops_per_sec": "20", "p50_us": "0.05", "spread_pct": "100.0", "lost": "4", "not_measured": "",
	} {
		if got := get(1, column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	for row, reason := range map[int]string{2: "shm has no uc", 3: "failed: broke, later", 4: "the run ended before its turn"} {
		if get(row, "not_measured") != reason || get(row, "size") != "8" || get(row, "transport") != "uc" {
			t.Errorf("row %d: %q", row, rows[row])
		}
		for _, column := range []string{"trials", "ops_per_sec", "p50_us", "p99_us", "mean_us", "spread_pct", "lost"} {
			if get(row, column) != "" {
				t.Errorf("row %d has %s %q", row, column, get(row, column))
			}
		}
	}
}

func TestIndexShowsAllAndSaysWhyNot(t *testing.T) {
	m := sample()
	m.Warnings = []string{"crowded"}
	r := Report{Config: Config{Fabric: "shm", Duration: time.Second, Trials: 3, Only: []int{3}, Table: 1 << 20}, Figures: []Measured{m}, Remarks: bench.Remarks{Notes: []string{"CPUs: 0"}, Reasons: []string{"a neighbour"}}}
	var b bytes.Buffer
	if err := r.WriteIndex(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SIGCOMM 2014", "remora bench figure herd-verbs --out DIR --fabric shm", "--only 3", "--table 1MiB", "- CPUs: 0",
		"## Figure 3: Rate", "**DO NOT TRUST THESE NUMBERS: a neighbour.**", "In the paper (Figure 3", "![Figure 3: Rate](figure-3.svg)", "[figure-3.csv](figure-3.csv)",
		"| bytes | a | b | c | d |", "| 8 | 20.0 | - | - | - |", "- b at 8: shm has no uc", "Doubtful: crowded; a at 8 has 3 trials, of the others one failed: once.",
		"remora bench verbs read --fabric shm --transport uc --size 8",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestRowsOfJSON(t *testing.T) {
	for want, row := range map[string]Row{
		`{"figure":5,"series":"basic","x":"SEND/SEND","not_measured":"cannot be"}`: {
			Figure: 5, Series: "basic", X: "SEND/SEND", NotMeasured: "cannot be",
		},
		`{"figure":2,"series":"READ","x":"8","test":"read",`: {Figure: 2, Series: "READ", X: "8", Row: &perf.Row{Test: "read"}},
	} {
		var b bytes.Buffer
		if err := row.WriteJSON(&b); err != nil || !json.Valid(b.Bytes()) || !strings.HasPrefix(b.String(), want) {
			t.Errorf("%v: %s, want %s", err, b.String(), want)
		}
	}
}

func TestMedianIsThatOfTheQuantity(t *testing.T) {
	o := Outcome{Rows: []perf.Row{{Measure: bench.Measure{OpsPerSec: 1, P50: 5}}, {Measure: bench.Measure{OpsPerSec: 2, P50: 9}}, {Measure: bench.Measure{OpsPerSec: 3, P50: 7}}}}
	if r, l := o.median(Rate), o.median(Latency); r.OpsPerSec != 2 || l.P50 != 7 {
		t.Errorf("medians %v and %v", r.OpsPerSec, l.P50)
	}
	if (&Outcome{}).median(Rate) != nil || (&Outcome{}).spread(Rate) != 0 {
		t.Error("a point without trials has a median")
	}
}
