package out

import (
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/load"
)

type row struct {
	name  string
	trial int
	rate  float64
}

// A column without a value is left out, one with a single value is not.
func TestWriteTable(t *testing.T) {
	var r bench.Remarks
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

func TestSparks(t *testing.T) {
	if got := Sparks([]float64{0, 1, 4, 8}); got != "▁▁▄█" {
		t.Errorf("%q", got)
	}
	if got := Sparks([]float64{0, 0}); got != "▁▁" {
		t.Errorf("nothing is %q", got)
	}
}
