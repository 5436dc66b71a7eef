package call

import (
	"fmt"
	"io"

	"github.com/remora-kv/remora/bench/internal/report"
)

// WriteTable writes the report for people: one line for each case, of its median
// trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	lines := report.Medians(r.Rows, func(r *Row) (int, float64) { return r.Trial, r.OpsPerSec })
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
		report.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		report.Right("size", sizes),
		report.Right("clients", func(m *median) string { return count(m.Row.Clients) }),
		report.Right("threads", func(m *median) string {
			return report.Unless(m.Row.Threads == m.Row.Clients || m.Row.Threads == 0, count(m.Row.Threads))
		}),
		report.Right("goroutines", func(m *median) string { return report.Unless(m.Row.Goroutines == 0, count(m.Row.Goroutines)) }),
		report.Right("connected", func(m *median) string { return report.Unless(m.Row.Connected == 0, count(m.Row.Connected)) }),
		report.Right("window", func(m *median) string { return count(m.Row.Window) }),
		report.Right("batch", func(m *median) string { return count(m.Row.Batch) }),
		report.Right("process", func(m *median) string { return report.Unless(m.Row.ProcessUs == 0, report.Micros(m.Row.ProcessUs)) }),
		report.Right("calls/s", func(m *median) string { return report.SI(m.Row.OpsPerSec) }),
		report.Right("p50", func(m *median) string { return report.Micros(m.Row.P50) }),
		report.Right("p99", func(m *median) string { return report.Micros(m.Row.P99) }),
		report.Right("p99.9", func(m *median) string { return report.Micros(m.Row.P999) }),
		report.Right("writes", func(m *median) string { return perOp(m.Row.Verbs.Write) }),
		report.Right("reads", func(m *median) string { return perOp(m.Row.Verbs.Read) }),
		report.Right("misses", func(m *median) string { return perOp(m.Row.Misses) }),
		report.Left("mode", mode),
		report.Right("client CPU", func(m *median) string { return report.PercentText(m.Row.ClientCPU, 0) }),
		report.Right("server CPU", func(m *median) string { return report.PercentText(m.Row.ServerCPU, 0) }),
		report.Right("errors", func(m *median) string { return report.Unless(m.Row.Errors == 0, fmt.Sprint(m.Row.Errors)) }),
		report.Right("spread", (*median).SpreadText),
		report.Left("", func(m *median) string { return report.Bar(m.Row.OpsPerSec, top, barWidth) }),
	}
}

// barWidth is the length of the longest bar.
const barWidth = 16

func sizes(m *median) string {
	if m.Row.Size == m.Row.ResultSize {
		return report.Bytes(m.Row.Size)
	}
	return report.Bytes(m.Row.Size) + " -> " + report.Bytes(m.Row.ResultSize)
}

// perOp writes how many of something a call takes.
func perOp(x float64) string { return fmt.Sprintf("%.2f", x) }

func mode(m *median) string {
	if m.Row.Switches == 0 {
		return m.Row.Mode
	}
	return fmt.Sprintf("%s (%d switches)", m.Row.Mode, m.Row.Switches)
}
