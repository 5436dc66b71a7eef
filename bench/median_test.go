package bench

import "testing"

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
