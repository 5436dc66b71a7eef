package kvl

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/test/benchtest"
)

// The servers of all paths are up together, but in each trial there are the neighbours that its
// own placement asks for, and no others.
func TestPlacements(t *testing.T) {
	cpus := len(host.CPUs())
	want := map[string]int{"busy-client": 1, "busy-server": 1, "busy-both": min(2, cpus), "roaming": 1}
	var placements []string
	for _, p := range host.Sharings() {
		if !strings.HasPrefix(p, "quota") {
			placements = append(placements, p)
		}
	}
	var neighbours []int
	env := envOf()
	env.Progress = func(p bench.Progress) {
		if p.Trial != 0 {
			neighbours = append(neighbours, len(benchtest.Children(os.Getpid(), roleHelper)))
		}
	}
	paths := []string{PathLinks, PathLookup, PathRFP}
	r, err := Run(t.Context(), Config{Apps: []string{AppItem}, Paths: paths, Scale: 0.001, Ops: 20, Trials: 2, Placements: placements}, env)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != len(placements)*len(paths)*2 || len(neighbours) != len(r.Rows) {
		t.Fatalf("%d rows, %d trials", len(r.Rows), len(neighbours))
	}
	for i := range r.Rows {
		placement := r.Rows[i].Placement
		if placement == "" {
			placement = host.ShareOwn
		}
		if want := want[placement]; neighbours[i] != want || placement != placements[i/(len(paths)*2)] {
			t.Errorf("row %d, in %s: %d neighbours, want %d", i, placement, neighbours[i], want)
		}
	}
	if left := benchtest.Children(os.Getpid(), roleHelper); len(left) != 0 {
		t.Errorf("neighbours stay: %v", left)
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), "\nitem "); n != len(placements)*len(paths) || !strings.Contains(table.String(), "placement busy-client: client") {
		t.Errorf("%d lines in\n%s", n, &table)
	}
	if f := r.Picture(); len(f.X.Names) != len(placements) || f.X.Names[1] != "item one" {
		t.Errorf("the figure has %q", f.X.Names)
	}
}

// The CPU time of links-two is that of both workers, of which one is on a thread that the
// engine does not know.
func TestTheCPUOfTwoWorkersIsThatOfBoth(t *testing.T) {
	u := &run{runner: &runner{}, c: &Case{App: AppSearch, Path: PathLinksTwo}}
	if one := (&run{runner: u.runner, c: &Case{App: AppSearch, Path: PathLinks}}); !u.Conditions().Spread || one.Conditions().Spread {
		t.Error("links-two is not measured as a process, or links is")
	}
}

// The second worker of links-two is on the CPU of the server; where both sides have one CPU, on
// that.
func TestPlaceOfTwoWorkers(t *testing.T) {
	r := &runner{Runner: &bench.Runner[Case, Row]{CPUs: []int{0, 1, 2}}}
	for _, tc := range []struct {
		path, placement string
		want            string
	}{
		{PathLinks, "busy-client", "client 0, server 2, beside a busy loop on 0"},
		{PathLinksTwo, "own", "client 0+2, server 2"},
		{PathLinksTwo, "busy-client", "client 0+2, server 2, beside a busy loop on 0+2"},
		{PathLinksTwo, "one", "client 2, server 2"},
		{PathLinksTwo, "roaming", "threads were not pinned, beside a busy process that is not pinned"},
	} {
		if got := r.pinning(&Case{Path: tc.path, Placement: tc.placement}); got != tc.want {
			t.Errorf("%s in %s: %q, want %q", tc.path, tc.placement, got, tc.want)
		}
	}
}
