package cache

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
)

// Every target has as many operations in flight, with or without batches.
func TestComparisonIsFair(t *testing.T) {
	providers := provider.New()
	c := Comparison{}
	cfgs, _, err := c.plan(providers)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[int]int{}
	for _, cfg := range cfgs {
		cfg.Fabrics = []string{provider.Shm}
		if err := cfg.normalize(); err != nil {
			t.Fatal(err)
		}
		for _, k := range cfg.plan() {
			if seen[k.Path] == nil {
				seen[k.Path] = map[int]int{}
			}
			seen[k.Path][k.most()]++
		}
	}
	for _, p := range Paths() {
		want := 1
		if p == PathNull {
			want = 0
		}
		if got := seen[p]; got[1] != want || got[16] != want || len(got) != 2*want {
			t.Errorf("%s has on its way: %v", p, got)
		}
	}
	for _, wrong := range []Comparison{
		{Baseline: "nobody"},
		{Baseline: PathRedis, Base: Config{Paths: []string{PathRFP}}},
		{Base: Config{Server: "tcp://somewhere:1"}},
	} {
		if _, _, err := wrong.plan(providers); !errors.Is(err, bench.ErrUsage) {
			t.Errorf("%+v gives %v", wrong, err)
		}
	}
	one := Comparison{Base: Config{Windows: []int{2}, Paths: []string{PathHerd, PathRFP}}}
	if cfgs, _, err := one.plan(providers); err != nil || len(cfgs) != 2 || !slices.Equal(cfgs[1].Windows, []int{2}) {
		t.Errorf("%v, %+v", err, cfgs)
	}
}

// Each case is of the configuration that asks for it, and of the first of several.
func TestCasesOfConfigurations(t *testing.T) {
	var cfgs []Config
	for _, cores := range []int{1, 2} {
		for _, batch := range []int{1, 4} {
			cfgs = append(cfgs, Config{Paths: []string{PathHerd, PathRFP}, Cores: cores, Batches: []int{batch}})
		}
	}
	cases, config, err := planRounds(cfgs, provider.New())
	if err != nil || len(cases) != 6 || len(config) != 6 { // herd has no batches
		t.Fatalf("%v: %d cases of %d", err, len(cases), len(config))
	}
	for i, k := range cases {
		if c := &cfgs[config[i]]; k.Cores != c.Cores || k.Batch != c.Batches[0] {
			t.Errorf("%+v is of %d", k, config[i])
		}
	}
}

// sampleCompared is a comparison of four targets, of which one is missing.
func sampleCompared() *Compared {
	cases := []Case{
		{Path: PathRFP, Fabric: "shm", Engine: "mica", GetPct: 95, Dist: DistUniform, Keys: 1000, ValueSize: 32, Clients: 1, Window: 1, Batch: 1},
		{Path: PathRFP, Fabric: "tcp", Engine: "mica", GetPct: 95, Dist: DistUniform, Keys: 1000, ValueSize: 32, Clients: 1, Window: 1, Batch: 1},
		{Path: PathMemcached, Fabric: "tcp", Engine: PathMemcached, GetPct: 95, Dist: DistUniform, Keys: 1000, ValueSize: 32, Clients: 1, Window: 1, Batch: 1},
		{Path: PathRFP, Fabric: "shm", Engine: "mica", GetPct: 95, Dist: DistUniform, Keys: 1000, ValueSize: 32, Clients: 1, Window: 4, Batch: 4},
		{Path: PathRedis, Fabric: "tcp", Engine: PathRedis, GetPct: 95, Dist: DistUniform, Keys: 1000, ValueSize: 32, Clients: 1, Window: 1, Batch: 1},
	}
	r := &Report{cases: cases, Report: bench.Report[Row]{Remarks: bench.Remarks{Notes: []string{"CPUs: client 0, server 1"}, Warnings: []string{"noisy"}}}}
	for trial, rates := range [][]float64{{1e6, 5e4, 1e4, 4e6}, {2e6, 6e4, 2e4, 4e6}, {3e6, 7e4, 3e4, 4e6}} {
		for i, x := range rates {
			k := &cases[i]
			r.Rows = append(r.Rows, Row{
				Path: k.Path, Fabric: k.Fabric, Engine: k.Engine, Measure: bench.Measure{OpsPerSec: x, P50: 1e6 / x, P99: 3e6 / x, Trial: trial + 1, ServerCPU: ptr(50.0)}, index: i,
			})
		}
	}
	r.Missing = []Missing{{cases[4], errors.New("redis-server is not installed")}}
	return &Compared{Report: r}
}

func TestCompareTable(t *testing.T) {
	var b bytes.Buffer
	if err := sampleCompared().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "compare.txt", b.Bytes())
}

// Ratios are those of the same round: what a round did to both is not in them.
func TestRatiosAreOfRounds(t *testing.T) {
	c := sampleCompared()
	if e := c.ratio(0, 2); e == nil || *e != (bench.Interval{Median: 100, Low: 100, High: 100}) {
		t.Errorf("%+v: every round has 100 times the baseline", e)
	}
	c.baseline = "rfp/tcp"
	if i := c.findBaseline(c.sections()[0].lines); i != 1 {
		t.Errorf("the baseline is case %d", i)
	}
}

func sampleSwept() *Swept {
	s := &Swept{Report: &Report{Report: bench.Report[Row]{Remarks: bench.Remarks{Notes: []string{"CPUs: client 0, server 1"}}}}, axes: []string{"window", "batch"}}
	for _, batch := range []string{"1", "16"} {
		for i, x := range []float64{1e6, 1.9e6, 2e6, 2.05e6} {
			row := Row{Path: PathRFP, Fabric: "shm", Engine: "mica", Measure: bench.Measure{OpsPerSec: x, Mean: 1, P50: 1, P99: 2, Trial: 1}}
			s.points = append(s.points, sweptPoint{Summary: summaryOf([]Row{row}), values: []string{[]string{"1", "2", "4", "8"}[i], batch}})
		}
	}
	s.findKnees()
	return s
}

func TestSweepTable(t *testing.T) {
	var b bytes.Buffer
	if err := sampleSwept().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "sweep.txt", b.Bytes())
}
