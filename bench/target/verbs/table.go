package verbs

import (
	"fmt"
	"io"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// WriteTable writes the report for people: one line for each case, of its
// median trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	lines := medians(r.Rows)
	return out.WriteTable(w, &r.Remarks, lines, columns(lines))
}

// median is one line of the table.
type median = bench.Median[Row]

func medians(rows []Row) []median {
	return bench.Medians(rows, func(r *Row) (int, float64) { return r.Trial, r.OpsPerSec })
}

func columns(lines []median) []out.Column[median] {
	top := 0.0
	for i := range lines {
		if lines[i].Row.ServerCPU == nil {
			top = max(top, lines[i].Row.OpsPerSec)
		}
	}
	return []out.Column[median]{
		out.Left("test", func(m *median) string { return m.Row.Test }),
		out.Left("fabric", func(m *median) string { return m.Row.Fabric }),
		out.Left("how", how),
		out.Left("placement", func(m *median) string { return m.Row.Placement }),
		out.Left("accesses", memory),
		out.Right("size", func(m *median) string { return out.Bytes(m.Row.Size) }),
		out.Right("window", func(m *median) string { return fmt.Sprint(m.Row.Window) }),
		out.Right("threads", threads),
		out.Right("ops/s", rateOf),
		out.Right("p50", func(m *median) string { return out.Micros(m.Row.P50) }),
		out.Right("p99", func(m *median) string { return out.Micros(m.Row.P99) }),
		out.Right("p99.9", func(m *median) string { return out.Micros(m.Row.P999) }),
		out.Right("of limit", ofLimit),
		out.Right("lost", func(m *median) string { return out.Unless(m.Row.Lost == 0, fmt.Sprint(m.Row.Lost)) }),
		out.Right("server CPU", func(m *median) string { return out.PercentText(m.Row.ServerCPU, 2) }),
		out.Right("spread", func(m *median) string { return out.Unless(m.Row.ServerCPU != nil, m.SpreadText()) }),
		out.Left("", func(m *median) string {
			return out.Unless(m.Row.ServerCPU != nil, out.Bar(m.Row.OpsPerSec, top, barWidth))
		}),
	}
}

// barWidth is the length of the longest bar.
const barWidth = 24

func how(m *median) string {
	if m.Row.Fabric == memoryFabric {
		if m.Row.Test == limitTest {
			return "one line"
		}
		return "two lines"
	}
	s := m.Row.Transport
	if m.Row.ReplyTransport != "" {
		s += "/" + m.Row.ReplyTransport
	}
	if m.Row.Inline {
		s += " inline"
	}
	if !m.Row.Signaled {
		s += " unsignaled"
	}
	return s
}

// memory says what the server looked up.
func memory(m *median) string {
	switch {
	case m.Row.Accesses == 0:
		return ""
	case m.Row.Prefetch == onOff(true):
		return fmt.Sprintf("%d prefetched", m.Row.Accesses)
	}
	return fmt.Sprint(m.Row.Accesses)
}

func threads(m *median) string {
	if m.Row.QPs > 1 {
		return fmt.Sprintf("%d x %d qp", m.Row.Threads, m.Row.QPs)
	}
	return fmt.Sprint(m.Row.Threads)
}

func rateOf(m *median) string {
	if m.Row.ServerCPU != nil {
		return "-"
	}
	return out.SI(m.Row.OpsPerSec)
}

func ofLimit(m *median) string {
	if m.Row.LimitRatio == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100**m.Row.LimitRatio)
}
