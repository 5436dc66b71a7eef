package cache_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/test/benchtest"
)

// Every target is measured in every placement, by threads, goroutines and processes, and as
// many neighbours as the placement asks for are there while it is.
func TestPlacements(t *testing.T) {
	needs(t, "memcached", "redis-server")
	want := map[string]int{"busy-client": 1, "busy-server": 1, "busy-both": min(2, len(host.CPUs())), "roaming": 1}
	for _, guarded := range []string{"quota=50%", "quota-client=50%", "quota-server=50%"} {
		want[guarded] = 1 // who removes the cgroups
	}
	for name, cfg := range map[string]cache.Config{
		"ours":       {Paths: []string{cache.PathRFP, cache.PathText}, Fabrics: []string{"shm", "tcp"}, Windows: []int{1, 4}},
		"on loop":    {Paths: []string{cache.PathRFP}, Fabrics: []string{"loop"}},
		"others":     {Paths: []string{cache.PathMemcached, cache.PathRedis}},
		"goroutines": {Paths: []string{cache.PathRFP, cache.PathMemcached}, Goroutines: []int{3}},
		"processes":  {Paths: []string{cache.PathRFP, cache.PathMemcached}, Processes: []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, placement := range host.Sharings() {
				if quota := strings.HasPrefix(placement, "quota"); quota && (name == "on loop" || !quotas(t)) {
					continue
				}
				cfg.Placements, cfg.Ops, cfg.Keys, cfg.Memory = []string{placement}, 40, 50, testMemory
				env := envOf(benchtest.Server)
				neighbours := -1
				env.Progress = func(p bench.Progress) {
					if p.Trial != 0 {
						neighbours = len(benchtest.Children(os.Getpid(), roleHelper))
						checkQuotas(t, placement)
					}
				}
				report, err := cache.Run(t.Context(), cfg, env)
				if err != nil {
					t.Fatalf("%s: %v", placement, err)
				}
				if neighbours != want[placement] {
					t.Errorf("%s: %d neighbours, want %d", placement, neighbours, want[placement])
				}
				for i := range report.Rows {
					if r := &report.Rows[i]; r.Placement != placement || r.Ops == 0 || r.Errors != 0 {
						t.Errorf("%s: %+v", placement, r)
					}
				}
				says := slices.ContainsFunc(report.Notes, func(s string) bool { return strings.Contains(s, "placement "+placement) })
				if says == (placement == host.ShareOwn) {
					t.Errorf("%s: the notes are %q", placement, report.Notes)
				}
			}
		})
	}
	nobodyIsLeft(t)
}

// quotas reports whether cgroups can be written here; in CI they can.
func quotas(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 && os.Getenv("CI") == "" {
		t.Log("quotas are left out: they need root")
		return false
	}
	return true
}

// cgroups are those of a process, as the kernel says.
func cgroups(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkQuotas looks whether client and server are in cgroups of their own, where there is to be
// a quota, and are not elsewhere.
func checkQuotas(t *testing.T, placement string) {
	t.Helper()
	kind, _, limited := strings.Cut(placement, "=")
	mine := fmt.Sprintf("remora-bench-%d-", os.Getpid())
	if want := limited && kind != "quota-server"; strings.Contains(cgroups(t, os.Getpid()), mine) != want {
		t.Errorf("%s: this process is in %s", placement, cgroups(t, os.Getpid()))
	}
	servers := 0
	for _, pid := range benchtest.Children(os.Getpid(), "") {
		if strings.Contains(cgroups(t, pid), fmt.Sprintf("%s%d", mine, pid)) {
			servers++
		}
	}
	if want := limited && kind != "quota-client"; (servers == 1) != want {
		t.Errorf("%s: %d servers are in cgroups of their own", placement, servers)
	}
}

func nobodyIsLeft(t *testing.T) {
	t.Helper()
	if mine := cgroups(t, os.Getpid()); strings.Contains(mine, "remora-bench") {
		t.Errorf("this process is still in %s", mine)
	}
	if left := benchtest.Children(os.Getpid(), ""); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// The server runs where its placement says, with all of its threads, and on no other CPU.
func TestServersKeepToTheirCPUs(t *testing.T) {
	needs(t, "memcached")
	cpus := host.CPUs()
	last := cpus[len(cpus)-1]
	for _, path := range []string{cache.PathRFP, cache.PathText, cache.PathMemcached} {
		for _, placement := range []string{"one", "busy-server"} {
			env := envOf(benchtest.Server)
			seen := false
			env.Progress = func(p bench.Progress) {
				if p.Trial == 0 {
					return
				}
				for _, pid := range benchtest.Children(os.Getpid(), "") {
					if slices.Contains(benchtest.Children(os.Getpid(), roleHelper), pid) {
						continue
					}
					var set unix.CPUSet
					if err := unix.SchedGetaffinity(pid, &set); err != nil || set.Count() != 1 || !set.IsSet(last) {
						t.Errorf("%s, %s: the server may use %v, %v", path, placement, set, err)
					}
					seen = true
				}
			}
			cfg := cache.Config{Paths: []string{path}, Placements: []string{placement}, Ops: 20, Keys: 20, Memory: testMemory}
			if _, err := cache.Run(t.Context(), cfg, env); err != nil || !seen {
				t.Errorf("%s, %s: %v, its server was seen: %v", path, placement, err, seen)
			}
		}
	}
}

// A trial that fails takes its neighbours with it.
func TestNeighboursOfATrialThatFails(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			for _, pid := range benchtest.Children(os.Getpid(), benchtest.Server) {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	for _, placement := range []string{"busy-both", "quota=50%"} {
		if placement != "busy-both" && !quotas(t) {
			continue
		}
		cfg := cache.Config{Placements: []string{placement}, Ops: 1 << 40, Keys: 50, Memory: testMemory}
		if _, err := cache.Run(t.Context(), cfg, env); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%s, its server was killed: %v", placement, err)
		}
		nobodyIsLeft(t)
		broken := env
		broken.Helper = benchtest.Self(benchtest.Broken)
		if _, err := cache.Run(t.Context(), cfg, broken); err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "placement "+placement) {
			t.Errorf("%s, a broken helper: %v", placement, err)
		}
		nobodyIsLeft(t)
	}
}

// Whoever kills a run leaves neither its server nor its neighbours.
func TestNeighboursDoNotOutliveAKilledRun(t *testing.T) {
	benchtest.KillParent(t, rolePlaced, 1+min(2, len(host.CPUs())))
	if quotas(t) {
		benchtest.KillParent(t, roleLimited, 2) // the guard ends when the cgroups are gone
	}
}

func TestPlacementsThatCannotBe(t *testing.T) {
	for want, cfg := range map[string]cache.Config{
		"--placement: placement \"two\" is unknown": {Placements: []string{"two"}},
		"leave out --server":                        {Placements: []string{"own", "one"}, Server: "tcp://x:1"},
		"on loop client and server are one process": {Placements: []string{"quota=50%"}, Fabrics: []string{"loop"}},
	} {
		if _, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server)); !errors.Is(err, bench.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
