package calls_test

import (
	"os"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/test/benchtest"
)

// Calls are measured in every placement that needs no right, and as many neighbours as it asks
// for are there while they are.
func TestPlacements(t *testing.T) {
	want := map[string]int{"busy-client": 1, "busy-server": 1, "busy-both": min(2, len(host.CPUs())), "roaming": 1}
	for _, placement := range host.Sharings() {
		if strings.HasPrefix(placement, "quota") {
			continue
		}
		env, neighbours := envOf(benchtest.Server), 0
		env.Helper = benchtest.Self(roleHelper)
		env.Progress = func(p bench.Progress) {
			if p.Trial == 1 {
				neighbours = len(benchtest.Children(os.Getpid(), roleHelper))
			}
		}
		report, err := calls.Run(t.Context(), calls.Config{Placements: []string{placement}, Ops: 40}, env)
		if err != nil {
			t.Fatalf("%s: %v", placement, err)
		}
		row := placement
		if placement == host.ShareOwn {
			row = ""
		}
		if got := report.Rows[0].Placement; got != row || neighbours != want[placement] {
			t.Errorf("%s: the row says %q, and there were %d neighbours, want %d", placement, got, neighbours, want[placement])
		}
	}
}
