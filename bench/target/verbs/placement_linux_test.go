package verbs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/test/benchtest"
)

// Verbs are measured in every placement that needs no right, and as many neighbours as it asks
// for are there while they are.
func TestPlacements(t *testing.T) {
	want := map[string]int{"busy-client": 1, "busy-server": 1, "busy-both": min(2, len(host.CPUs())), "roaming": 1}
	for _, placement := range host.Sharings() {
		if strings.HasPrefix(placement, "quota") {
			continue
		}
		env, neighbours := envOf(benchtest.Server), 0
		env.Progress = func(p bench.Progress) {
			if p.Trial == 1 {
				neighbours = len(benchtest.Children(os.Getpid(), roleHelper))
			}
		}
		cfg := verbs.Config{Tests: []string{"read", "outbound-write", "echo-ww"}, Placements: []string{placement}, Windows: []int{4}, Ops: 40}
		report, err := verbs.Run(t.Context(), cfg, env)
		if err != nil {
			t.Fatalf("%s: %v", placement, err)
		}
		row := placement
		if placement == host.ShareOwn {
			row = ""
		}
		for _, r := range report.Rows {
			if r.Placement != row || neighbours != want[placement] {
				t.Errorf("%s: the row says %q, and there were %d neighbours, want %d", placement, r.Placement, neighbours, want[placement])
			}
		}
	}
}

// An echo is compared with the limit of its own placement.
func TestLimitOfAPlacement(t *testing.T) {
	report, err := verbs.Run(t.Context(), verbs.Config{
		Tests: []string{"limit", "echo-ww"}, Placements: []string{"own", "busy-client"}, Windows: []int{2}, Ops: 400,
	}, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]float64{}
	for _, r := range report.Rows {
		if r.Test == "limit" {
			limits[r.Placement] = r.OpsPerSec
			continue
		}
		if want := r.OpsPerSec / limits[r.Placement]; r.LimitRatio == nil || *r.LimitRatio < want-0.001 || *r.LimitRatio > want+0.001 {
			t.Errorf("placement %q: a ratio of %v, want %.4f", r.Placement, r.LimitRatio, want)
		}
	}
	if len(limits) != 2 || len(report.Rows) != 4 {
		t.Errorf("%d rows, with the limits %v", len(report.Rows), limits)
	}
}
