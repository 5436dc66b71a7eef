package calls

import (
	"fmt"
	"io"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// WriteTable writes the report for people: one line for each case, of its median
// trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	lines := bench.Medians(r.Rows, func(r *Row) (int, float64) { return r.Trial, r.OpsPerSec })
	return out.WriteTable(w, &r.Remarks, lines, columns(lines))
}

// median is one line of the table.
type median = bench.Median[Row]

func columns(lines []median) []out.Column[median] {
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].Row.OpsPerSec)
	}
	count := func(n int) string { return fmt.Sprint(n) }
	return []out.Column[median]{
		out.Left("path", func(m *median) string { return m.Row.Path }),
		out.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		out.Left("placement", func(m *median) string { return m.Row.Placement }),
		out.Right("size", sizes),
		out.Right("clients", func(m *median) string { return count(m.Row.Clients) }),
		out.Right("threads", func(m *median) string {
			return out.Unless(m.Row.Threads == m.Row.Clients || m.Row.Threads == 0, count(m.Row.Threads))
		}),
		out.Right("goroutines", func(m *median) string { return out.Unless(m.Row.Goroutines == 0, count(m.Row.Goroutines)) }),
		out.Right("connected", func(m *median) string { return out.Unless(m.Row.Connected == 0, count(m.Row.Connected)) }),
		out.Right("window", func(m *median) string { return count(m.Row.Window) }),
		out.Right("batch", func(m *median) string { return count(m.Row.Batch) }),
		out.Right("process", func(m *median) string { return out.Unless(m.Row.ProcessUs == 0, out.Micros(m.Row.ProcessUs)) }),
		out.Right("calls/s", func(m *median) string { return out.SI(m.Row.OpsPerSec) }),
		out.Right("p50", func(m *median) string { return out.Micros(m.Row.P50) }),
		out.Right("p99", func(m *median) string { return out.Micros(m.Row.P99) }),
		out.Right("p99.9", func(m *median) string { return out.Micros(m.Row.P999) }),
		out.Right("writes", func(m *median) string { return perOp(m.Row.Verbs.Write) }),
		out.Right("reads", func(m *median) string { return perOp(m.Row.Verbs.Read) }),
		out.Right("misses", func(m *median) string { return perOp(m.Row.Misses) }),
		out.Left("mode", mode),
		out.Right("client CPU", func(m *median) string { return out.PercentText(m.Row.ClientCPU, 0) }),
		out.Right("server CPU", func(m *median) string { return out.PercentText(m.Row.ServerCPU, 0) }),
		out.Right("errors", func(m *median) string { return out.Unless(m.Row.Errors == 0, fmt.Sprint(m.Row.Errors)) }),
		out.Right("spread", (*median).SpreadText),
		out.Left("", func(m *median) string { return out.Bar(m.Row.OpsPerSec, top, barWidth) }),
	}
}

// barWidth is the length of the longest bar.
const barWidth = 16

func sizes(m *median) string {
	if m.Row.Size == m.Row.ResultSize {
		return out.Bytes(m.Row.Size)
	}
	return out.Bytes(m.Row.Size) + " -> " + out.Bytes(m.Row.ResultSize)
}

// perOp writes how many of something a call takes.
func perOp(x float64) string { return fmt.Sprintf("%.2f", x) }

func mode(m *median) string {
	if m.Row.Switches == 0 {
		return m.Row.Mode
	}
	return fmt.Sprintf("%s (%d switches)", m.Row.Mode, m.Row.Switches)
}
