package papers

import (
	"bytes"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/test/benchtest"
)

// Every figure says where it is from, and its plan has no point twice.
func TestFiguresCite(t *testing.T) {
	figure := regexp.MustCompile(`^(Figure|Fig\.|Table) \d+$`)
	name := regexp.MustCompile(`^(rfp|rfrpc|herd|keli|proto)-(fig|table)\d+$`)
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || !name.MatchString(p.Name) || !figure.MatchString(p.Number) || p.Paper == "" || p.Title == "" || p.Found == "" || p.Ours == "" || p.X == "" || len(p.Shows) == 0 {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if digits := regexp.MustCompile(`\d+`); digits.FindString(p.Name) != digits.FindString(p.Number) {
			t.Errorf("%s is %s", p.Name, p.Number)
		}
		points := map[[2]string]bool{}
		series := map[string]bool{}
		for _, pt := range p.Points(Default(8)) {
			k := [2]string{pt.Series, pt.X}
			if points[k] || pt.X == "" || pt.work == nil {
				t.Errorf("%s has the point %v twice, or nothing to do there", p.Name, k)
			}
			points[k], series[pt.Series] = true, true
		}
		for _, a := range p.Authors {
			if !series[a.Series] || len(a.X) == 0 || !(a.Y > 0) || !slices.ContainsFunc(p.Shows, func(q Quantity) bool { return q.Name == a.Of.Name }) {
				t.Errorf("%s: what the authors found belongs to no series: %v %v", p.Name, a.Series, a.X)
			}
		}
		if len(points) == 0 {
			t.Errorf("%s has no points", p.Name)
		}
	}
	for _, want := range []string{"rfp-fig4", "rfrpc-fig13", "herd-fig9", "herd-fig10", "proto-table3", "keli-fig8", "keli-fig9", "keli-fig10", "keli-fig11", "herd-fig2", "herd-fig7"} {
		if _, err := Find(want); err != nil {
			t.Error(err)
		}
	}
	if _, err := Find("rfp-fig99"); err == nil || !strings.Contains(err.Error(), "bench figure") {
		t.Errorf("%v", err)
	}
}

func TestUpTo(t *testing.T) {
	if got := upTo([]int{1, 2, 4, 8}, 4); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := upTo([]int{2, 4}, 1); len(got) != 1 || got[0] != 2 {
		t.Errorf("%v: nothing is left", got)
	}
}

func TestTable(t *testing.T) {
	p := Figure{
		Name: "herd-fig9", Paper: "HERD", Number: "Figure 9", Title: "throughput", Found: "much", Ours: "less", X: "% GET", Shows: []Quantity{rate, mean},
		Authors: []Found{{rate, "HERD", 18.5e6, []string{"95", "0"}}},
	}
	r := &Report{Figure: p, Size: Size{Fabric: "shm", Keys: 1000, Duration: time.Second, Trials: 2, Clients: 4, Cores: 1, Scale: 1, Seed: 1}}
	for _, x := range []string{"95", "0"} {
		for _, name := range []string{"HERD", "Pilaf"} {
			r.place(name, x)
		}
	}
	for trial := 1; trial <= 2; trial++ {
		r.Rows = append(r.Rows, Row{Series: "HERD", X: "95", Measure: bench.Measure{OpsPerSec: float64(trial) * 1e6, Mean: 1}}, Row{Series: "Pilaf", X: "95", Measure: bench.Measure{OpsPerSec: 3e6, Mean: 2}})
	}
	r.Rows = append(r.Rows, Row{Series: "HERD", X: "0", Measure: bench.Measure{OpsPerSec: 5e5, Mean: 4}})
	r.Missing = []Missing{{"Pilaf", "0", errors.New("no room"), true}}
	r.Warn("noisy")
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "table.txt", b.Bytes())
	pictures := r.Pictures()
	if len(pictures) != 2 {
		t.Fatalf("%d pictures of two quantities", len(pictures))
	}
	f := pictures[0]
	want := []out.Series{
		{Name: "HERD", Points: []out.Point{{X: 0, Y: 5e5, Low: 5e5, High: 5e5}, {X: 95, Y: 2e6, Low: 1e6, High: 2e6}}},
		{Name: "Pilaf", Points: []out.Point{{X: 95, Y: 3e6, Low: 3e6, High: 3e6}}},
		{Name: "HERD", Paper: true, Points: []out.Point{{X: 95, Y: 18.5e6}, {X: 0, Y: 18.5e6}}},
	}
	if !reflect.DeepEqual(f.Series, want) || f.X.Log || !slices.Equal(f.X.Ticks, []float64{0, 95}) {
		t.Errorf("drawn is %+v\nwant %+v on %+v", f.Series, want, f.X)
	}
	if len(pictures[1].Series) != 2 {
		t.Errorf("the paper has no mean, but there are %d series", len(pictures[1].Series))
	}
}

// Numbers that lie ever farther apart are drawn by their logarithms.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		places []string
		log    bool
	}{
		{[]string{"1", "2", "4", "8"}, true},
		{[]string{"1000", "4", "64"}, true},
		{[]string{"95", "50", "5"}, false},
		{[]string{"1", "2", "4", "6", "8"}, false},
		{[]string{"0", "1", "100"}, false},
	} {
		if got := spreads(places(c.places)); got != c.log {
			t.Errorf("%v: %v", c.places, got)
		}
	}
	if places([]string{"1", "both"}) != nil {
		t.Error("a name is a number")
	}
}
