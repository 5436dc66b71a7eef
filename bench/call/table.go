package call

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes the report for people: one line for each case, of its median
// trial, with a bar scaled to the fastest.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", s)
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	writeColumns(&b, medians(r.Rows))
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
		slices.SortFunc(group, func(a, b Row) int { return cmp.Compare(a.OpsPerSec, b.OpsPerSec) })
		m := median{Row: group[len(group)/2], trials: len(group)}
		if m.OpsPerSec > 0 {
			m.spread = (group[len(group)-1].OpsPerSec - group[0].OpsPerSec) / m.OpsPerSec
		}
		out = append(out, m)
		start = stop
	}
	return out
}

// column is one column of the table; one without a value in any line is left out.
type column struct {
	head  string
	left  bool
	value func(m *median) string
}

func columns(top float64) []column {
	count := func(n int) string { return fmt.Sprint(n) }
	return []column{
		{"path", true, func(m *median) string { return m.Path }},
		{"fabric", true, func(m *median) string { return m.Fabric }},
		{"size", false, sizes},
		{"clients", false, func(m *median) string { return count(m.Clients) }},
		{"threads", false, func(m *median) string { return unless(m.Threads == m.Clients || m.Threads == 0, count(m.Threads)) }},
		{"goroutines", false, func(m *median) string { return unless(m.Goroutines == 0, count(m.Goroutines)) }},
		{"connected", false, func(m *median) string { return unless(m.Connected == 0, count(m.Connected)) }},
		{"window", false, func(m *median) string { return count(m.Window) }},
		{"batch", false, func(m *median) string { return count(m.Batch) }},
		{"process", false, func(m *median) string { return unless(m.ProcessUs == 0, timeOf(m.ProcessUs)) }},
		{"calls/s", false, func(m *median) string { return siOf(m.OpsPerSec) }},
		{"p50", false, func(m *median) string { return timeOf(m.P50) }},
		{"p99", false, func(m *median) string { return timeOf(m.P99) }},
		{"p99.9", false, func(m *median) string { return timeOf(m.P999) }},
		{"writes", false, func(m *median) string { return perOp(m.Verbs.Write) }},
		{"reads", false, func(m *median) string { return perOp(m.Verbs.Read) }},
		{"misses", false, func(m *median) string { return perOp(m.Misses) }},
		{"mode", true, mode},
		{"client CPU", false, func(m *median) string { return cpu(m.ClientCPU) }},
		{"server CPU", false, func(m *median) string { return cpu(m.ServerCPU) }},
		{"errors", false, func(m *median) string { return unless(m.Errors == 0, fmt.Sprint(m.Errors)) }},
		{"spread", false, func(m *median) string {
			return unless(m.trials < 2, fmt.Sprintf("%.0f %% of %d", 100*m.spread, m.trials))
		}},
		{"", true, func(m *median) string { return bar(m.OpsPerSec, top) }},
	}
}

func writeColumns(b *strings.Builder, lines []median) {
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].OpsPerSec)
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

func unless(hidden bool, s string) string {
	if hidden {
		return ""
	}
	return s
}

func sizes(m *median) string {
	if m.Size == m.ResultSize {
		return bytesOf(m.Size)
	}
	return bytesOf(m.Size) + " -> " + bytesOf(m.ResultSize)
}

// perOp writes how many of something a call takes.
func perOp(x float64) string { return fmt.Sprintf("%.2f", x) }

func mode(m *median) string {
	if m.Switches == 0 {
		return m.Mode
	}
	return fmt.Sprintf("%s (%d switches)", m.Mode, m.Switches)
}

func cpu(pct *float64) string {
	if pct == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", *pct)
}

// barWidth is the length of the longest bar.
const barWidth = 16

// bar draws the rate in eighths of a block.
func bar(x, top float64) string {
	if top <= 0 {
		return ""
	}
	eighths := int(math.Round(x / top * barWidth * 8))
	if eighths == 0 && x > 0 {
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
