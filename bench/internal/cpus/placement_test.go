package cpus

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
