package papers

import (
	"slices"
	"testing"
)

// Every figure of verbs has its series at every place of its axis, once.
func TestHERDVerbs(t *testing.T) {
	bytes := []string{"8", "16", "32", "64", "128", "256", "512", "1024"}
	for i, want := range []struct {
		name           string
		series, places []string
	}{
		{"herd-fig2", []string{"READ", "WRITE", "WRITE inline", "ECHO"}, bytes},
		{"herd-fig3", []string{"READ, RC", "WRITE, UC", "WRITE, RC", "SEND, UD"}, bytes},
		{"herd-fig4", []string{"READ, RC", "WRITE, RC", "WRITE, UC", "WRITE inline, UC", "SEND inline, UD"}, bytes},
		{"herd-fig5", []string{"basic", "+ unreliable", "+ unsignaled", "+ inline"}, []string{"SEND/SEND", "WRITE/WRITE", "WRITE/SEND"}},
		{"herd-fig6", []string{"in-bound WRITE, UC", "out-bound SEND, UD", "out-bound WRITE, UC"}, []string{"1", "2", "4", "8", "16"}},
		{"herd-fig7", []string{"prefetch, 1 core", "no prefetch, 1 core"}, []string{"1", "2", "4", "6", "8"}},
	} {
		f := herdVerbs(2)[i]
		var r Report
		points := f.Points(Default(2))
		for _, p := range points {
			r.place(p.Series, p.X)
		}
		if f.Name != want.name || !slices.Equal(r.names, want.series) || !slices.Equal(r.xs, want.places) || len(points) != len(r.names)*len(r.xs) {
			t.Errorf("%s: %d points, series %q at %q", f.Name, len(points), r.names, r.xs)
		}
	}
	// With four CPUs there is a pair of series with two cores.
	if n := len(herdVerbs(4)[5].Points(Default(4))); n != 20 {
		t.Errorf("%d points with prefetching on four CPUs, want 20", n)
	}
}
