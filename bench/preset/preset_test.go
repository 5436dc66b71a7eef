package preset

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/test/benchtest"
)

// Every preset says where it is from, and its plan has no point twice.
func TestPresetsCite(t *testing.T) {
	figure := regexp.MustCompile(`^(Figure|Fig\.|Table) \d+$`)
	name := regexp.MustCompile(`^(rfp|rfrpc|herd|keli|proto)-(fig|table)\d+$`)
	seen := map[string]bool{}
	for _, p := range All() {
		if seen[p.Name] || !name.MatchString(p.Name) || !figure.MatchString(p.Figure) || p.Paper == "" || p.Title == "" || p.Found == "" || p.Ours == "" || p.X == "" || len(p.Shows) == 0 {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if digits := regexp.MustCompile(`\d+`); digits.FindString(p.Name) != digits.FindString(p.Figure) {
			t.Errorf("%s is %s", p.Name, p.Figure)
		}
		points := map[[2]string]bool{}
		for _, pt := range p.Points(Default(8)) {
			k := [2]string{pt.Series, pt.X}
			if points[k] || pt.X == "" || pt.work == nil {
				t.Errorf("%s has the point %v twice, or nothing to do there", p.Name, k)
			}
			points[k] = true
		}
		if len(points) == 0 {
			t.Errorf("%s has no points", p.Name)
		}
	}
	for _, want := range []string{"rfp-fig4", "rfrpc-fig13", "herd-fig9", "herd-fig10", "proto-table3", "keli-fig8", "keli-fig9", "keli-fig10", "keli-fig11"} {
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
	p := Preset{Name: "herd-fig9", Paper: "HERD", Figure: "Figure 9", Title: "throughput", Found: "much", Ours: "less", X: "% GET", Shows: []Quantity{rate(), mean()}}
	r := &Report{Preset: p, Size: Size{Fabric: "shm", Keys: 1000, Duration: time.Second, Trials: 2, Clients: 4, Cores: 1, Scale: 1, Seed: 1}}
	for _, x := range []string{"95", "0"} {
		for _, name := range []string{"HERD", "Pilaf"} {
			r.place(name, x)
		}
	}
	for trial := 1; trial <= 2; trial++ {
		r.Rows = append(r.Rows, Row{Series: "HERD", X: "95", Measure: bench.Measure{OpsPerSec: float64(trial) * 1e6, Mean: 1}}, Row{Series: "Pilaf", X: "95", Measure: bench.Measure{OpsPerSec: 3e6, Mean: 2}})
	}
	r.Rows = append(r.Rows, Row{Series: "HERD", X: "0", Measure: bench.Measure{OpsPerSec: 5e5, Mean: 4}})
	r.Missing = []Missing{{"Pilaf", "0", errors.New("no room")}}
	r.Warn("noisy")
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "table.txt", b.Bytes())
}
