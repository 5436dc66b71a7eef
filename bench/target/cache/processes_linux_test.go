package cache_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/test/benchtest"
)

// Clients that are processes do what clients that are threads do, on every path: as many
// operations as they were asked for, and every verb is counted.
func TestProcesses(t *testing.T) {
	needs(t, "memcached", "redis-server")
	for name, cfg := range map[string]cache.Config{
		"ours":        {Paths: []string{cache.PathRFP, cache.PathHerd, cache.PathOneSided}, Fabrics: []string{"shm", "tcp"}, Windows: []int{3}, Clients: []int{2}},
		"others":      {Paths: []string{cache.PathText, cache.PathMemcached, cache.PathRedis}, Windows: []int{4}},
		"goroutines":  {Paths: []string{cache.PathRFP, cache.PathMemcached}, Goroutines: []int{3}, Ops: 50},
		"at a rate":   {Rates: []float64{20_000}, Clients: []int{2}},
		"by a socket": {Paths: []string{cache.PathMemcached}, Network: "unix", Protocols: []string{cache.ProtocolMeta}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Processes = []int{2}
			report := measure(t, cfg)
			for i := range report.Rows {
				if r := &report.Rows[i]; r.Processes != 2 || r.ClientCPU == nil || r.ServerCPU == nil {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// By time all work while each measures, and what they do around that is in no row.
func TestProcessesByTime(t *testing.T) {
	report, err := cache.Run(t.Context(), cache.Config{
		Processes: []int{0, 1, 3}, Keys: testKeys, Memory: testMemory, Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond, Windows: []int{2}, Trials: 1,
	}, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, 3} {
		r := &report.Rows[i]
		if r.Processes != want || r.Ops == 0 || r.Seconds < 0.2 || r.Samples == 0 || uint64(r.Samples) > r.Ops || len(r.Quantiles) == 0 || r.Timeline == nil {
			t.Errorf("%d processes: %+v", want, r)
		}
		// A get by rfp is a WRITE and a READ at least, and a few more READs, or on a busy
		// machine a second WRITE: not those of operations that nobody counted, but for those
		// in flight at the end.
		inFlight := float64(2*max(want, 1)) / float64(r.Ops)
		if per := r.Verbs.Write + r.Verbs.Read; per < 1.5 || r.Verbs.Write > 2+inFlight {
			t.Errorf("%d processes: %+v verbs for each of %d operations", want, r.Verbs, r.Ops)
		}
		most := 1.05 * float64(r.Ops) / 0.2
		if r.OpsPerSec > most {
			t.Errorf("%d processes: %d operations of 200 ms are %g a second", want, r.Ops, r.OpsPerSec)
		}
		var all uint64
		for _, n := range r.Timeline.Ops {
			all += n
		}
		if all > r.Ops || all < r.Ops/2 {
			t.Errorf("%d processes: %d of %d operations are in the timeline", want, all, r.Ops)
		}
	}
}

// The same operations are done whether clients are threads or processes.
func TestProcessesDoTheSame(t *testing.T) {
	one := measure(t, cache.Config{Clients: []int{4}}).Rows[0]
	many := measure(t, cache.Config{Clients: []int{2}, Processes: []int{2}}).Rows[0]
	if one.Gets != many.Gets || one.Ops != many.Ops {
		t.Errorf("four threads did %d gets of %d, two processes of two %d of %d", one.Gets, one.Ops, many.Gets, many.Ops)
	}
}

// A client process that dies ends the trial, and says how.
func TestAClientProcessThatDies(t *testing.T) {
	env := envOf(benchtest.Server)
	whenMeasuring(&env, killMember)
	tellsOfTheEnd(t, env)
	if left := benchtest.Children(os.Getpid(), roleMember); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// So does one that dies before anybody asks it to measure.
func TestAClientProcessThatDiesEarly(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			killMember()
			for len(benchtest.Children(os.Getpid(), roleMember)) == 3 {
				runtime.Gosched()
			}
		}
	}
	tellsOfTheEnd(t, env)
}

// tellsOfTheEnd runs three client processes, of which env kills one.
func tellsOfTheEnd(t *testing.T, env cache.Env) {
	t.Helper()
	start := time.Now()
	_, err := cache.Run(t.Context(), cache.Config{Processes: []int{3}, Keys: 100, Memory: testMemory, Duration: time.Hour}, env)
	for _, want := range []string{"client process ", "ended early", "killed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %v: %v, without %q", time.Since(start), err, want)
		}
	}
}

// One that cannot be started, and one that is of another version.
func TestClientProcessesThatCannotBe(t *testing.T) {
	cfg := cache.Config{Processes: []int{2}, Keys: 100, Memory: testMemory, Ops: 10}
	for want, role := range map[string]string{"no such luck": benchtest.Broken, `of version "other"`: roleOther} {
		env := envOf(benchtest.Server)
		env.Client = benchtest.Self(role)
		if _, err := cache.Run(t.Context(), cfg, env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", role, err)
		}
	}
	env := envOf(benchtest.Server)
	env.Client = []string{"/nowhere/at/all"}
	if _, err := cache.Run(t.Context(), cfg, env); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a program that is not there: %v", err)
	}
	cfg.Fabrics = []string{"loop"}
	if _, err := cache.Run(t.Context(), cfg, env); err == nil || !slices.Contains(strings.Fields(err.Error()), "loop,") {
		t.Errorf("on loop: %v", err)
	}
}

// whenMeasuring does something as soon as a run measures.
func whenMeasuring(env *cache.Env, do func()) {
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			go do()
		}
	}
}

// killMember kills one of the client processes.
func killMember() {
	for _, pid := range benchtest.Children(os.Getpid(), roleMember)[:1] {
		p, _ := os.FindProcess(pid)
		_ = p.Kill()
	}
}
