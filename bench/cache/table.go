package cache

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/remora-kv/remora/bench/internal/report"
)

// WriteTable writes the report for people: one line for each case, of its median
// trial, with a bar scaled to the fastest; and where there are several trials a second
// table of what they say together.
func (r *Report) WriteTable(w io.Writer) error {
	var lines []median
	for _, s := range r.Summaries() {
		lines = append(lines, s.line())
	}
	if !slices.ContainsFunc(lines, func(m median) bool { return m.summary.Trials > 1 }) {
		return report.WriteTable(w, &r.Remarks, lines, columns(lines))
	}
	return report.WriteTable(w, &r.Remarks, lines, columns(lines), slices.Concat(report.Varying(lines, caseColumns(lines)), trialColumns()))
}

// trialColumns are what all trials of a case say.
func trialColumns() []report.Column[median] {
	return []report.Column[median]{
		report.Right("trials", func(m *median) string { return fmt.Sprint(m.summary.Trials) }),
		report.Right("mean ops/s ± 95 % (sd)", func(m *median) string { return estimateText(m.summary.Rate, report.SI) }),
		report.Right("mean p50 ± 95 % (sd)", func(m *median) string { return estimateText(m.summary.P50, report.Micros) }),
		report.Right("mean p99 ± 95 % (sd)", func(m *median) string { return estimateText(m.summary.P99, report.Micros) }),
	}
}

// median is one line of the table: the trial in the middle, and what all say.
type median struct {
	report.Median[Row]
	summary *Summary
}

func columns(lines []median) []report.Column[median] {
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].Row.OpsPerSec)
	}
	return append(caseColumns(lines), []report.Column[median]{
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
		report.Right("item", perItem),
		report.Right("misses", func(m *median) string { return report.Unless(m.Row.Misses == 0, fmt.Sprint(m.Row.Misses)) }),
		report.Right("hits", hits),
		report.Right("errors", func(m *median) string { return report.Unless(m.Row.Errors == 0, fmt.Sprint(m.Row.Errors)) }),
		report.Left("errors by kind", kindsText),
		report.Right("spread", func(m *median) string { return m.SpreadText() }),
		report.Left("", func(m *median) string { return report.Bar(m.Row.OpsPerSec, top, barWidth) }),
	}...)
}

// caseColumns say what was measured.
func caseColumns(lines []median) []report.Column[median] {
	meta := anyMeta(lines)
	count := func(n int) string { return fmt.Sprint(n) }
	return []report.Column[median]{
		report.Left("path", func(m *median) string { return m.Row.Path }),
		report.Left("engine", func(m *median) string { return report.Unless(m.Row.Engine == m.Row.Path, m.Row.Engine) }),
		report.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		report.Left("protocol", func(m *median) string { return report.Unless(!meta, m.Row.Protocol) }),
		report.Left("prefetch", func(m *median) string { return report.Unless(m.Row.Prefetch != PrefetchOff, m.Row.Prefetch) }),
		report.Right("links", func(m *median) string { return report.Unless(m.Row.Links == 0, linksText(m.Row.Links)) }),
		report.Left("recency", func(m *median) string { return m.Row.Recency }),
		report.Left("client", func(m *median) string { return m.Row.Client }),
		report.Left("workload", func(m *median) string { return m.Row.Workload }),
		report.Right("gets", func(m *median) string { return fmt.Sprintf("%g %%", m.Row.GetPct) }),
		report.Right("rmw", func(m *median) string { return report.Unless(m.Row.RMWPct == 0, fmt.Sprintf("%g %%", m.Row.RMWPct)) }),
		report.Left("keys", dist),
		report.Right("cache", func(m *median) string { return report.Unless(m.Row.Cache == 0, fmt.Sprintf("%g %%", m.Row.Cache)) }),
		report.Right("value", func(m *median) string { return valueText(m.Row.ValueDist, m.Row.ValueSize) }),
		report.Right("processes", func(m *median) string { return report.Unless(m.Row.Processes == 0, count(m.Row.Processes)) }),
		report.Right("clients", func(m *median) string { return count(m.Row.Clients) }),
		report.Right("goroutines", func(m *median) string { return report.Unless(m.Row.Goroutines == 0, count(m.Row.Goroutines)) }),
		report.Right("rate", func(m *median) string { return report.Unless(m.Row.Rate == 0, report.SI(m.Row.Rate)) }),
		report.Right("window", func(m *median) string { return count(m.Row.Window) }),
		report.Right("batch", func(m *median) string { return count(m.Row.Batch) }),
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
	case DistTrace:
		return filepath.Base(m.Row.Trace)
	case DistLatest:
		return fmt.Sprintf("%s latest %g", text, m.Row.Theta)
	case DistHotspot:
		return fmt.Sprintf("%s hotspot %g/%g", text, m.Row.HotOps, m.Row.HotKeys)
	}
	return text + " " + m.Row.Dist
}

// valueText writes a size, or the name of a distribution with its mean.
func valueText(dist string, size int) string {
	if dist == "" {
		return report.Bytes(size)
	}
	return dist + " " + report.Bytes(size)
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
