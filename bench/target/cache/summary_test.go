package cache

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/test/benchtest"
)

// Trials of a case are found wherever they were measured, and say what the textbook says.
func TestSummaries(t *testing.T) {
	row := func(index, trial int, rate, p50 float64) Row {
		return Row{Path: PathRFP, Measure: bench.Measure{Trial: trial, OpsPerSec: rate, P50: p50, P99: 2 * p50}, index: index}
	}
	var r Report
	r.Rows = []Row{
		row(1, 1, 30, 7), row(0, 1, 1, 1), row(1, 2, 10, 7), row(0, 2, 2, 2), row(0, 3, 5, 3), row(0, 4, 4, 4), row(0, 5, 3, 5),
	}
	got := r.Summaries()
	if len(got) != 2 || got[0].Trials != 5 || got[1].Trials != 2 {
		t.Fatalf("%+v", got)
	}
	// Of 1 to 5: mean 3, deviation sqrt(2.5), t of 4 degrees of freedom 2.776.
	if s := got[0]; s.Rate.Mean != 3 || math.Abs(s.Rate.SD-1.581) > 1e-9 || math.Abs(s.Rate.CI95-1.963) > 1e-9 || s.P50 != s.Rate || s.P99.Mean != 6 {
		t.Errorf("five trials: %+v", s)
	}
	if s := got[0]; s.Median.OpsPerSec != 3 || s.Median.Trial != 5 || math.Abs(s.spread-4.0/3) > 1e-9 {
		t.Errorf("the median is %+v, spread %v", s.Median, s.spread)
	}
	if s := got[1]; s.Rate.Mean != 20 || s.P50.SD != 0 || s.P50.CI95 != 0 || s.Median.OpsPerSec != 30 {
		t.Errorf("two trials: %+v", s)
	}
	if none := (&Report{}).Summaries(); none != nil {
		t.Errorf("of nothing: %+v", none)
	}
}

// A summary is a line of JSON that cannot be taken for a row.
func TestSummaryJSON(t *testing.T) {
	r := Report{Report: bench.Report[Row]{Rows: sampleRows()}}
	var b bytes.Buffer
	for _, s := range r.Summaries() {
		if err := json.NewEncoder(&b).Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 {
		t.Errorf("%d lines of 4 cases", len(lines))
	}
	for _, l := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil || v["kind"] != KindSummary || v["path"] != nil || v["median"] == nil {
			t.Errorf("%v: %s", err, l)
		}
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	w := out.NewCSV[Row](&b)
	for _, r := range sampleRows() {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	benchtest.Golden(t, "rows.csv", b.Bytes())
}
