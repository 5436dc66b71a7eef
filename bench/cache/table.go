package cache

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/remora-kv/remora/bench/internal/report"
)

// WriteTable writes the report for people: one line for each case, of its median
// trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.index, b.index) })
	lines := report.Medians(rows, func(r *Row) (int, float64) { return r.Trial, r.OpsPerSec })
	return report.WriteTable(w, &r.Remarks, lines, columns(lines))
}

// median is one line of the table.
type median = report.Median[Row]

func columns(lines []median) []report.Column[median] {
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].Row.OpsPerSec)
	}
	count := func(n int) string { return fmt.Sprint(n) }
	return []report.Column[median]{
		report.Left("path", func(m *median) string { return m.Row.Path }),
		report.Left("engine", func(m *median) string { return report.Unless(m.Row.Engine == m.Row.Path, m.Row.Engine) }),
		report.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		report.Left("prefetch", func(m *median) string { return report.Unless(m.Row.Prefetch != PrefetchOff, m.Row.Prefetch) }),
		report.Right("links", func(m *median) string { return report.Unless(m.Row.Links == 0, count(m.Row.Links)) }),
		report.Left("recency", func(m *median) string { return m.Row.Recency }),
		report.Left("client", func(m *median) string { return m.Row.Client }),
		report.Right("gets", func(m *median) string { return fmt.Sprintf("%g %%", m.Row.GetPct) }),
		report.Left("keys", dist),
		report.Right("cache", func(m *median) string { return report.Unless(m.Row.Cache == 0, fmt.Sprintf("%g %%", m.Row.Cache)) }),
		report.Right("value", func(m *median) string { return report.Bytes(m.Row.ValueSize) }),
		report.Right("clients", func(m *median) string { return count(m.Row.Clients) }),
		report.Right("goroutines", func(m *median) string { return report.Unless(m.Row.Goroutines == 0, count(m.Row.Goroutines)) }),
		report.Right("window", func(m *median) string { return count(m.Row.Window) }),
		report.Right("batch", func(m *median) string { return count(m.Row.Batch) }),
		report.Right("ops/s", func(m *median) string { return report.SI(m.Row.OpsPerSec) }),
		report.Right("mean", func(m *median) string { return report.Micros(m.Row.Mean) }),
		report.Right("p50", func(m *median) string { return report.Micros(m.Row.P50) }),
		report.Right("p95", func(m *median) string { return report.Micros(m.Row.P95) }),
		report.Right("p99", func(m *median) string { return report.Micros(m.Row.P99) }),
		report.Right("p99.9", func(m *median) string { return report.Micros(m.Row.P999) }),
		report.Right("writes", func(m *median) string { return perOp(m, m.Row.Verbs.Write) }),
		report.Right("reads", func(m *median) string { return perOp(m, m.Row.Verbs.Read) }),
		report.Right("sends", func(m *median) string { return report.Unless(m.Row.Verbs.Send == 0, perOp(m, m.Row.Verbs.Send)) }),
		report.Right("atomics", func(m *median) string { return report.Unless(m.Row.Verbs.Atomic == 0, perOp(m, m.Row.Verbs.Atomic)) }),
		report.Right("client CPU", func(m *median) string { return report.PercentText(m.Row.ClientCPU, 0) }),
		report.Right("server CPU", func(m *median) string { return report.PercentText(m.Row.ServerCPU, 0) }),
		report.Right("misses", func(m *median) string { return report.Unless(m.Row.Misses == 0, fmt.Sprint(m.Row.Misses)) }),
		report.Right("hits", hits),
		report.Right("errors", func(m *median) string { return report.Unless(m.Row.Errors == 0, fmt.Sprint(m.Row.Errors)) }),
		report.Right("spread", (*median).SpreadText),
		report.Left("", func(m *median) string { return report.Bar(m.Row.OpsPerSec, top, barWidth) }),
	}
}

// barWidth is the length of the longest bar.
const barWidth = 16

func dist(m *median) string {
	text := report.SI(float64(m.Row.Keys))
	switch m.Row.Dist {
	case DistZipf:
		return fmt.Sprintf("%s zipf %g", text, m.Row.Theta)
	case DistScanMixed:
		return fmt.Sprintf("%s zipf %g, %g %% scans", text, m.Row.Theta, m.Row.ScanPct)
	}
	return text + " " + m.Row.Dist
}

// hits writes the share of gets that found an item, where not all did.
func hits(m *median) string {
	if m.Row.Misses == 0 || m.Row.HitRatio == nil {
		return ""
	}
	return fmt.Sprintf("%.2f %%", 100**m.Row.HitRatio)
}

// perOp writes how many of something an operation takes.
func perOp(m *median, x float64) string {
	return report.Unless(!isOurs(m.Row.Path), fmt.Sprintf("%.2f", x))
}
