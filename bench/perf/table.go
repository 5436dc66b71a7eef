package perf

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes the report for people: one line for each case, of its
// median trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", s)
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	lines := medians(r.Rows)
	writeColumns(&b, lines)
	if len(r.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// median is one line of the table: the median trial of a case and how far the
// trials lie apart.
type median struct {
	Row
	trials int
	spread float64 // (max-min)/median of the rates
}

// medians groups the rows by case, in order.
func medians(rows []Row) []median {
	var out []median
	for start := 0; start < len(rows); {
		stop := start + 1
		for stop < len(rows) && rows[stop].Trial > rows[stop-1].Trial {
			stop++
		}
		group := slices.Clone(rows[start:stop])
		slices.SortFunc(group, func(a, b Row) int { return cmpFloat(a.OpsPerSec, b.OpsPerSec) })
		m := median{Row: group[len(group)/2], trials: len(group)}
		if m.OpsPerSec > 0 {
			m.spread = (group[len(group)-1].OpsPerSec - group[0].OpsPerSec) / m.OpsPerSec
		}
		out = append(out, m)
		start = stop
	}
	return out
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// column is one column of the table; one without a value in any line is left
// out.
type column struct {
	head  string
	left  bool
	value func(m *median) string
}

func columns(top float64) []column {
	return []column{
		{"test", true, func(m *median) string { return m.Test }},
		{"fabric", true, func(m *median) string { return m.Fabric }},
		{"how", true, how},
		{"size", false, func(m *median) string { return bytesOf(m.Size) }},
		{"window", false, func(m *median) string { return fmt.Sprint(m.Window) }},
		{"threads", false, threads},
		{"ops/s", false, rateOf},
		{"p50", false, func(m *median) string { return timeOf(m.P50) }},
		{"p99", false, func(m *median) string { return timeOf(m.P99) }},
		{"p99.9", false, func(m *median) string { return timeOf(m.P999) }},
		{"of limit", false, ofLimit},
		{"lost", false, lost},
		{"server CPU", false, serverCPU},
		{"spread", false, spread},
		{"", true, func(m *median) string { return bar(m, top) }},
	}
}

func writeColumns(b *strings.Builder, lines []median) {
	top := 0.0
	for i := range lines {
		if lines[i].ServerCPU == nil {
			top = max(top, lines[i].OpsPerSec)
		}
	}
	var grid [][]string // by column
	var cols []column
	for _, c := range columns(top) {
		cells, used := []string{c.head}, false
		for i := range lines {
			s := c.value(&lines[i])
			used = used || s != ""
			cells = append(cells, s)
		}
		if used {
			grid, cols = append(grid, cells), append(cols, c)
		}
	}
	for line := range len(lines) + 1 {
		var text strings.Builder
		for i, c := range cols {
			pad(&text, grid[i][line], width(grid[i]), c.left)
			text.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
		b.WriteByte('\n')
	}
}

func width(cells []string) int {
	n := 0
	for _, s := range cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

func pad(b *strings.Builder, s string, n int, left bool) {
	fill := strings.Repeat(" ", n-utf8.RuneCountInString(s))
	if left {
		b.WriteString(s + fill)
		return
	}
	b.WriteString(fill + s)
}

func how(m *median) string {
	if m.Fabric == memoryFabric {
		if m.Test == limitTest {
			return "one line"
		}
		return "two lines"
	}
	s := m.Transport
	if m.Inline {
		s += " inline"
	}
	if !m.Signaled {
		s += " unsignaled"
	}
	return s
}

func threads(m *median) string {
	if m.QPs > 1 {
		return fmt.Sprintf("%d x %d qp", m.Threads, m.QPs)
	}
	return fmt.Sprint(m.Threads)
}

func rateOf(m *median) string {
	if m.ServerCPU != nil {
		return "-"
	}
	return siOf(m.OpsPerSec)
}

func ofLimit(m *median) string {
	if m.LimitRatio == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100**m.LimitRatio)
}

func lost(m *median) string {
	if m.Lost == 0 {
		return ""
	}
	return fmt.Sprint(m.Lost)
}

func serverCPU(m *median) string {
	if m.ServerCPU == nil {
		return ""
	}
	return fmt.Sprintf("%.2f %%", *m.ServerCPU)
}

func spread(m *median) string {
	if m.trials < 2 || m.ServerCPU != nil {
		return ""
	}
	return fmt.Sprintf("%.0f %% of %d", 100*m.spread, m.trials)
}

// barWidth is the length of the longest bar.
const barWidth = 24

// bar draws the rate in eighths of a block.
func bar(m *median, top float64) string {
	if m.ServerCPU != nil || top <= 0 {
		return ""
	}
	eighths := int(math.Round(m.OpsPerSec / top * barWidth * 8))
	if eighths == 0 && m.OpsPerSec > 0 {
		eighths = 1
	}
	parts := []rune(" ▏▎▍▌▋▊▉")
	s := strings.Repeat("█", eighths/8)
	if eighths%8 != 0 {
		s += string(parts[eighths%8])
	}
	return s
}

// siOf writes a number with three digits and a unit.
func siOf(x float64) string {
	for _, u := range []struct {
		at   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= u.at {
			return threeDigits(x/u.at) + " " + u.name
		}
	}
	return threeDigits(x)
}

// timeOf writes microseconds with three digits and a unit.
func timeOf(us float64) string {
	switch {
	case us >= 1e6:
		return threeDigits(us/1e6) + " s"
	case us >= 1e3:
		return threeDigits(us/1e3) + " ms"
	case us >= 1:
		return threeDigits(us) + " us"
	}
	return threeDigits(us*1e3) + " ns"
}

func threeDigits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func bytesOf(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
