package cache

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
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
		return out.WriteTable(w, &r.Remarks, lines, columns(lines))
	}
	said := r.Remarks
	said.Notes = append(slices.Clip(said.Notes), bench.IntervalNote(r.rounds()))
	return out.WriteTable(w, &said, lines, columns(lines), slices.Concat(out.Varying(lines, caseColumns(lines)), trialColumns()))
}

// trialColumns are what all trials of a case say.
func trialColumns() []out.Column[median] {
	return []out.Column[median]{
		out.Right("trials", func(m *median) string { return fmt.Sprint(m.summary.Trials) }),
		out.Right("median ops/s (interval)", func(m *median) string { return estimateText(m.summary.Rate, out.SI) }),
		out.Right("median p50 (interval)", func(m *median) string { return estimateText(m.summary.P50, out.Micros) }),
		out.Right("median p99 (interval)", func(m *median) string { return estimateText(m.summary.P99, out.Micros) }),
	}
}

// median is one line of the table: the trial in the middle, and what all say.
type median struct {
	bench.Median[Row]
	summary *Summary
}

func columns(lines []median) []out.Column[median] {
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].Row.OpsPerSec)
	}
	return append(caseColumns(lines), []out.Column[median]{
		out.Right("ops/s", func(m *median) string { return out.SI(m.Row.OpsPerSec) }),
		out.Right("mean", func(m *median) string { return out.Micros(m.Row.Mean) }),
		out.Right("p50", func(m *median) string { return out.Micros(m.Row.P50) }),
		out.Right("p95", func(m *median) string { return out.Micros(m.Row.P95) }),
		out.Right("p99", func(m *median) string { return out.Micros(m.Row.P99) }),
		out.Right("p99.9", func(m *median) string { return out.Micros(m.Row.P999) }),
		out.Right("writes", func(m *median) string { return perOp(m, m.Row.Verbs.Write) }),
		out.Right("reads", func(m *median) string { return perOp(m, m.Row.Verbs.Read) }),
		out.Right("sends", func(m *median) string { return out.Unless(m.Row.Verbs.Send == 0, perOp(m, m.Row.Verbs.Send)) }),
		out.Right("atomics", func(m *median) string { return out.Unless(m.Row.Verbs.Atomic == 0, perOp(m, m.Row.Verbs.Atomic)) }),
		out.Right("client CPU", func(m *median) string { return out.PercentText(m.Row.ClientCPU, 0) }),
		out.Right("server CPU", func(m *median) string { return out.PercentText(m.Row.ServerCPU, 0) }),
		out.Right("item", perItem),
		out.Right("misses", func(m *median) string { return out.Unless(m.Row.Misses == 0, fmt.Sprint(m.Row.Misses)) }),
		out.Right("hits", hits),
		out.Right("errors", func(m *median) string { return out.Unless(m.Row.Errors == 0, fmt.Sprint(m.Row.Errors)) }),
		out.Left("errors by kind", kindsText),
		out.Right("spread", func(m *median) string { return m.SpreadText() }),
		out.Left("", func(m *median) string { return out.Bar(m.Row.OpsPerSec, top, barWidth) }),
	}...)
}

// caseColumns say what was measured.
func caseColumns(lines []median) []out.Column[median] {
	meta, placed := anyMeta(lines), anyPlaced(lines)
	count := func(n int) string { return fmt.Sprint(n) }
	return []out.Column[median]{
		out.Left("path", func(m *median) string { return m.Row.Path }),
		out.Left("engine", func(m *median) string { return out.Unless(m.Row.Engine == m.Row.Path, m.Row.Engine) }),
		out.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		out.Left("protocol", func(m *median) string { return out.Unless(!meta, m.Row.Protocol) }),
		out.Left("placement", func(m *median) string { return out.Unless(!placed, m.Row.Placement) }),
		out.Left("prefetch", func(m *median) string { return out.Unless(m.Row.Prefetch != PrefetchOff, m.Row.Prefetch) }),
		out.Right("links", func(m *median) string { return out.Unless(m.Row.Links == 0, linksText(m.Row.Links)) }),
		out.Left("recency", func(m *median) string { return m.Row.Recency }),
		out.Left("client", func(m *median) string { return m.Row.Client }),
		out.Left("workload", func(m *median) string { return m.Row.Workload }),
		out.Right("gets", func(m *median) string { return fmt.Sprintf("%g %%", m.Row.GetPct) }),
		out.Right("rmw", func(m *median) string { return out.Unless(m.Row.RMWPct == 0, fmt.Sprintf("%g %%", m.Row.RMWPct)) }),
		out.Left("keys", dist),
		out.Right("cache", func(m *median) string { return out.Unless(m.Row.Cache == 0, fmt.Sprintf("%g %%", m.Row.Cache)) }),
		out.Right("value", func(m *median) string { return valueText(m.Row.ValueDist, m.Row.ValueSize) }),
		out.Right("processes", func(m *median) string { return out.Unless(m.Row.Processes == 0, count(m.Row.Processes)) }),
		out.Right("clients", func(m *median) string { return count(m.Row.Clients) }),
		out.Right("goroutines", func(m *median) string { return out.Unless(m.Row.Goroutines == 0, count(m.Row.Goroutines)) }),
		out.Right("rate", func(m *median) string { return out.Unless(m.Row.Rate == 0, out.SI(m.Row.Rate)) }),
		out.Right("window", func(m *median) string { return count(m.Row.Window) }),
		out.Right("batch", func(m *median) string { return count(m.Row.Batch) }),
	}
}

// barWidth is the length of the longest bar.
const barWidth = 16

func dist(m *median) string {
	text := out.SI(float64(m.Row.Keys))
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
		return out.Bytes(size)
	}
	return dist + " " + out.Bytes(size)
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
	return out.Unless(!isOurs(m.Row.Path), fmt.Sprintf("%.2f", x))
}
