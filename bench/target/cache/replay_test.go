package cache_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/test/benchtest"
)

// traceOf writes a trace.
func traceOf(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.csv")
	if err := os.WriteFile(path, []byte("op,key,size,ttl\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// mixed is a trace of many keys and sizes, with as many misses as are told: gets of what was
// deleted, and of what was never there.
func mixed() (lines []string, gets, misses int) {
	for i := range 600 {
		lines = append(lines, fmt.Sprintf("set,key-%d,%d", i, i*i%3000))
	}
	for i := range 600 {
		if i%3 == 0 {
			lines = append(lines, fmt.Sprintf("del,key-%d", i))
			misses++
		}
		lines = append(lines, fmt.Sprintf("get,key-%d", i))
	}
	return append(lines, "get,never", "get,never,50", "del,never"), 602, misses + 2
}

// Every line is done exactly once, with its size, by every kind of server; what was deleted
// is gone, because the operations of a key keep their order.
func TestTrace(t *testing.T) {
	lines, gets, misses := mixed()
	path := traceOf(t, lines...)
	paths := []string{cache.PathRFP, cache.PathReply, cache.PathHerd, cache.PathText}
	for _, p := range append(paths, cache.PathMemcached, cache.PathRedis) {
		for _, clients := range []int{1, 3} {
			t.Run(fmt.Sprint(p, clients), func(t *testing.T) {
				cfg := cache.Config{Paths: []string{p}, Trace: path, Memory: testMemory, Clients: []int{clients}, Protocols: cache.Protocols()}
				if p == cache.PathMemcached || p == cache.PathRedis {
					needs(t, "memcached", "redis-server")
				}
				report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
				if err != nil {
					t.Fatal(err)
				}
				for i := range report.Rows {
					r := &report.Rows[i]
					if r.Ops != uint64(len(lines)) || r.Gets != uint64(gets) || r.Misses != uint64(misses) || r.Errors != 0 || r.Trace != path || r.Dist != cache.DistTrace {
						t.Errorf("%d operations of %d, %d gets, %d misses of %d, %+v", r.Ops, len(lines), r.Gets, r.Misses, misses, r)
					}
				}
			})
		}
	}
}

// With Fill misses are put, in the size of the line, and are there the next time; windows and
// rates change nothing.
func TestTraceFills(t *testing.T) {
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("get,key-%d,%d", i%150, 10+i%150))
	}
	for name, cfg := range map[string]cache.Config{
		"closed": {}, "open": {Rates: []float64{50_000}}, "window": {Windows: []int{2}, Batches: []int{4}},
	} {
		cfg.Fabrics, cfg.Trace, cfg.Memory, cfg.Fill = []string{"loop"}, traceOf(t, lines...), testMemory, true
		report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		if r := &report.Rows[0]; r.Gets != 300 || r.Misses != 150 || r.Ops != 450 || *r.Items != 150 {
			t.Errorf("%s: %+v, %d items", name, r, *r.Items)
		}
	}
}

// By a number of operations or by time it begins anew, and a time to live is kept.
func TestTraceAgain(t *testing.T) {
	cfg := cache.Config{Fabrics: []string{"loop"}, Trace: traceOf(t, "set,a,100,3600", "get,a", "set,b,5,1"), Memory: testMemory, Ops: 1000}
	report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
	if err != nil || report.Rows[0].Ops != 1000 || report.Rows[0].Misses != 0 {
		t.Errorf("%+v, %v", report.Rows, err)
	}
	cfg.Ops, cfg.Duration = 0, 5*time.Millisecond
	if report, err = cache.Run(t.Context(), cfg, envOf(benchtest.Server)); err != nil || report.Rows[0].Ops == 0 {
		t.Errorf("%+v, %v", report.Rows, err)
	}
}

func TestTracesThatCannotBe(t *testing.T) {
	good := traceOf(t, "set,a,100")
	for want, cfg := range map[string]cache.Config{
		"trace.csv:3: ":        {Trace: traceOf(t, "get,a", "push,a")},
		"has no operations":    {Trace: traceOf(t, "# nothing")},
		"the server takes 250": {Trace: traceOf(t, "get,"+strings.Repeat("k", 251)), Paths: []string{cache.PathMemcached}},
		"no such file":         {Trace: good + ".none"},
		"leave out --get-pct":  {Trace: good, GetPcts: []float64{50}},
		"not --processes":      {Trace: good, Processes: []int{2}},
		"leave out --workload": {Trace: good, Workloads: []string{cache.YCSBA}},
		"leave out --cache":    {Trace: good, Caches: []float64{50}},
		"use --clients":        {Trace: good, Goroutines: []int{2}},
		"--path null has none": {Trace: good, Paths: []string{cache.PathNull}},
		"has no time":          {Trace: traceOf(t, "set,a,1,60"), Paths: []string{cache.PathText}},
		"left by the warm-up":  {Trace: good, WarmupOps: 1},
	} {
		if len(cfg.Paths) != 0 && cfg.Paths[0] == cache.PathMemcached {
			needs(t, "memcached")
		}
		cfg.Fabrics = []string{"loop"}
		if cfg.Caches == nil {
			cfg.Memory = testMemory
		}
		if _, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := cache.Run(t.Context(), cache.Config{Trace: good + ".none"}, envOf(benchtest.Server))
	if !errors.Is(err, bench.ErrUsage) {
		t.Error(err)
	}
}
