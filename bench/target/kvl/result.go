package kvl

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// Row is one trial of one application by one path. Its JSON form is one line of
// `remora bench kvl --json`.
type Row struct {
	App    string `json:"app"`
	Path   string `json:"path"`
	Fabric string `json:"fabric"`
	// Items is how many items there are, Window how many reads are in flight at most.
	Items  int64 `json:"items"`
	Window int   `json:"window"`
	// Operations are items, positions, pages, or users that a search has visited. The
	// latencies of a search are those of one user, in the mean.
	bench.Measure
	// Edges counts those that a search has looked at.
	Edges int `json:"edges,omitempty"`
	// Placement is what client and server shared their CPUs with, where it is not nothing.
	Placement string `json:"placement,omitempty"`
}

// what names the application of a row and its placement: paths are compared where both are the
// same.
func (r *Row) what() string { return strings.TrimSpace(r.App + " " + r.Placement) }

// Report is the outcome of a run: rows, notes and warnings.
type Report struct{ bench.Report[Row] }

// WriteTable writes the report for people: one line for each path, of its median trial,
// with how much faster than each path links are.
func (r *Report) WriteTable(w io.Writer) error {
	lines := r.medians()
	return out.WriteTable(w, &r.Remarks, lines, columns(lines))
}

// medians returns the median trial of each application by each path, whose trials were
// interleaved, in one placement after the other.
func (r *Report) medians() []median {
	rows, placed := slices.Clone(r.Rows), map[string]int{}
	for i := range rows {
		if _, ok := placed[rows[i].Placement]; !ok {
			placed[rows[i].Placement] = len(placed)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(slices.Index(Apps(), a.App), slices.Index(Apps(), b.App)),
			cmp.Compare(placed[a.Placement], placed[b.Placement]),
			cmp.Compare(slices.Index(Paths(), a.Path), slices.Index(Paths(), b.Path)))
	})
	return bench.Medians(rows, func(r *Row) (int, float64) { return r.Trial, r.OpsPerSec })
}

type median = bench.Median[Row]

func columns(lines []median) []out.Column[median] {
	links := map[string]float64{}
	for i := range lines {
		if m := &lines[i].Row; m.Path == PathLinks {
			links[m.what()] = m.Mean
		}
	}
	return []out.Column[median]{
		out.Left("app", func(m *median) string { return m.Row.App }),
		out.Left("path", func(m *median) string { return m.Row.Path }),
		out.Left("placement", func(m *median) string { return m.Row.Placement }),
		out.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		out.Right("items", func(m *median) string { return out.SI(float64(m.Row.Items)) }),
		out.Right("ops", func(m *median) string { return out.SI(float64(m.Row.Ops)) }),
		out.Right("ops/s", func(m *median) string { return out.SI(m.Row.OpsPerSec) }),
		out.Right("mean", func(m *median) string { return out.Micros(m.Row.Mean) }),
		out.Right("p50", func(m *median) string { return out.Unless(m.Row.App == AppSearch, out.Micros(m.Row.P50)) }),
		out.Right("p95", func(m *median) string { return out.Unless(m.Row.App == AppSearch, out.Micros(m.Row.P95)) }),
		out.Right("p99", func(m *median) string { return out.Unless(m.Row.App == AppSearch, out.Micros(m.Row.P99)) }),
		out.Right("server CPU", func(m *median) string { return out.PercentText(m.Row.ServerCPU, 0) }),
		out.Right("links are faster by", func(m *median) string {
			if links[m.Row.what()] == 0 || m.Row.Path == PathLinks {
				return ""
			}
			return fmt.Sprintf("%.2f", m.Row.Mean/links[m.Row.what()])
		}),
		out.Right("spread", (*median).SpreadText),
	}
}
