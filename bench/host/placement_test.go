package host

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		threads, cores int
		cpus           []int
		client, server []int
		warns          bool
	}{
		{1, 1, nil, nil, nil, true},
		{1, 1, []int{3}, []int{3}, []int{3}, true},
		{1, 1, []int{0, 1}, []int{0}, []int{1}, false},
		{8, 1, []int{0, 1}, []int{0}, []int{1}, true},
		{1, 2, []int{0, 1}, []int{0}, []int{1, 1}, true},
		{2, 2, []int{0, 1, 2, 3}, []int{0, 1}, []int{2, 3}, false},
		{0, 2, []int{0, 1, 2, 3}, []int{0, 1}, []int{2, 3}, false},
		{1, 8, []int{0, 1, 2, 3}, []int{0}, []int{1, 2, 3, 1, 2, 3, 1, 2}, true},
	} {
		p := Split(tc.cpus, tc.threads, tc.cores)
		if !slices.Equal(p.Client, tc.client) || !slices.Equal(p.Server, tc.server) || (p.Warning != "") != tc.warns {
			t.Errorf("%d threads and %d cores on %v: %+v", tc.threads, tc.cores, tc.cpus, p)
		}
	}
}

func TestApart(t *testing.T) {
	if p := Apart([]int{4, 5}, 2); len(p.Client) != 2 || len(p.Server) != 0 || p.Warning != "" {
		t.Errorf("with the server elsewhere: %+v", p)
	}
}

// Hyper-threads of one core are not apart.
func TestTogether(t *testing.T) {
	pairs := func(cpu int) int { return cpu % 2 } // 0 and 2 are siblings, 1 and 3
	alone := func(cpu int) int { return cpu }
	for _, tc := range []struct {
		threads, cores int
		core           func(int) int
		warns          bool
	}{
		{1, 1, pairs, false}, // 0 against 3
		{2, 1, pairs, true},  // 1 against 3
		{1, 2, pairs, true},  // 0 against 2
		{2, 2, alone, false},
	} {
		p := Split([]int{0, 1, 2, 3}, tc.threads, tc.cores)
		if got := p.Together(tc.threads, tc.core); (got != "") != tc.warns {
			t.Errorf("%d threads and %d cores: %q", tc.threads, tc.cores, got)
		}
	}
	if got := (&Placement{}).Together(1, pairs); got != "" {
		t.Errorf("nobody is pinned: %q", got)
	}
}
