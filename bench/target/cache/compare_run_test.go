package cache_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/test/benchtest"
)

// All paths are compared on two fabrics; what is missing is named, and ends nothing.
func TestCompare(t *testing.T) {
	t.Setenv("PATH", "/nowhere") // neither memcached nor Redis
	c := cache.Comparison{Base: cache.Config{Fabrics: []string{"shm", "tcp"}, Keys: testKeys, Memory: testMemory, Ops: testOps / 4, Trials: 2}}
	r, err := cache.Compare(t.Context(), c, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	targets := len(cache.Paths()) - 4 // of Remora, on fabrics
	if want := 2 * 2 * (2*targets + 1); len(r.Rows) != want || len(r.Missing) != 4 {
		t.Errorf("%d rows, want %d; missing %v", len(r.Rows), want, r.Missing)
	}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one operation at a time", "16 operations in flight", "x text", "not measured: redis over tcp", "Debian package memcached", "farm-var"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

// A sweep has a row for every point of every path, and says which is which.
func TestSweep(t *testing.T) {
	base := cache.Config{Paths: []string{cache.PathRFP, cache.PathHerd}, Fabrics: []string{"loop"}, Keys: testKeys, Memory: testMemory, Ops: testOps}
	s := cache.Sweep{Axes: []string{"cores", "batch"}}
	for _, batch := range []int{1, 4} {
		for _, cores := range []int{1, 2} {
			cfg := base
			cfg.Cores, cfg.Batches = cores, []int{batch}
			s.Points = append(s.Points, cache.SweepPoint{Values: []string{string(rune('0' + cores)), string(rune('0' + batch))}, Config: cfg})
		}
	}
	rows := 0
	env := envOf(benchtest.Server)
	env.Row = func(cache.Row) error { rows++; return nil }
	r, err := cache.RunSweep(t.Context(), s, env)
	// To herd, which has no batches, half of the points are the same.
	if err != nil || rows != 6 || len(r.Rows) != 6 {
		t.Errorf("%v, %d rows", err, rows)
	}
	s.Points[0].Config.ValueSizes = []int{8, 64}
	if _, err := cache.RunSweep(t.Context(), s, env); !errors.Is(err, bench.ErrUsage) {
		t.Errorf("a point of several rows gives %v", err)
	}
}
