package report

import (
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/load"
)

type row struct {
	name  string
	trial int
	rate  float64
}

func key(r *row) (int, float64) { return r.trial, r.rate }

func TestMedians(t *testing.T) {
	rows := []row{{"a", 1, 30}, {"a", 2, 10}, {"a", 3, 20}, {"b", 1, 0}, {"c", 1, 5}, {"c", 2, 5}}
	got := Medians(rows, key)
	want := []Median[row]{{row{"a", 3, 20}, 3, 1}, {row{"b", 1, 0}, 1, 0}, {row{"c", 2, 5}, 2, 0}}
	if len(got) != len(want) {
		t.Fatalf("%d medians: %+v", len(got), got)
	}
	for i := range want {
		if got[i].Row.name != want[i].Row.name || got[i].Row.rate != want[i].Row.rate || got[i].Trials != want[i].Trials || got[i].Spread != want[i].Spread {
			t.Errorf("median %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if a, b := got[0].SpreadText(), got[1].SpreadText(); a != "100 % of 3" || b != "" {
		t.Errorf("spreads %q and %q", a, b)
	}
}

// A column without a value is left out, one with a single value is not.
func TestWriteTable(t *testing.T) {
	var r Remarks
	r.Warn("")
	r.Warn("hot")
	r.Warn("hot")
	r.Note("%d CPUs", 2)
	var b strings.Builder
	err := WriteTable(&b, &r, []row{{"née", 1, 7}, {"b", 2, 0}}, []Column[row]{
		Left("name", func(r *row) string { return r.name }),
		Right("never", func(*row) string { return "" }),
		Right("rate", func(r *row) string { return Unless(r.rate == 0, SI(r.rate)) }),
	})
	want := "WARNING: hot\n\nname  rate\nnée   7.00\nb\n\n  2 CPUs\n"
	if err != nil || b.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestPercent(t *testing.T) {
	if p := load.Percent(time.Second, 3*time.Second, 2); p == nil || *p != 33.33 || PercentText(p, 0) != "33 %" {
		t.Errorf("a third is %v", p)
	}
	if p := load.Percent(time.Second, 0, 1); p != nil || PercentText(p, 1) != "" {
		t.Errorf("a share of nothing is %v", *p)
	}
}
