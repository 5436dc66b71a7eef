package rocevm

import (
	"fmt"
	"slices"
	"strings"
)

// ContestTable is the comparison with perftest as a table for docs/results.
func ContestTable(samples []Sample) string {
	var b strings.Builder
	b.WriteString("| what, us | ours | range | perftest | range | pinned | range | ratio | target | |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range samples {
		s := &samples[i]
		fmt.Fprintf(&b, "| %s (`%s`) | %s | %s | %s | %s |\n", s.Name, s.Peer[0],
			cells(s.OursUS), cells(s.FreeUS), cells(s.PinnedUS), verdict(s))
	}
	return b.String() + notes(samples)
}

// CountTable is the comparison in a guest that counts instructions, where a
// microsecond is a thousand of them.
func CountTable(samples []Sample) string {
	var b strings.Builder
	b.WriteString("| what, instructions | ours | perftest | ratio | target | |\n|---|---|---|---|---|---|\n")
	for i := range samples {
		s := &samples[i]
		fmt.Fprintf(&b, "| %s (`%s`) | %.0f | %.0f | %s |\n", s.Name, s.Peer[0], 1000*median(s.OursUS), 1000*median(s.FreeUS), verdict(s))
	}
	return b.String() + notes(samples)
}

// verdict is three cells: ratio, target, and whether it was met.
func verdict(s *Sample) string {
	switch {
	case s.Target == 0:
		return fmt.Sprintf("%.2f |  | ", s.Ratio())
	case s.Ratio() > s.Target:
		return fmt.Sprintf("%.2f | <= %.2f | MISSED", s.Ratio(), s.Target)
	}
	return fmt.Sprintf("%.2f | <= %.2f | met", s.Ratio(), s.Target)
}

func notes(samples []Sample) string {
	text := "\n"
	for i := range samples {
		if s := &samples[i]; s.Note != "" {
			text += fmt.Sprintf("- %s: %s.\n", s.Name, s.Note)
		}
	}
	return text
}

// cells are the median and the range of some values.
func cells(v []float64) string {
	return fmt.Sprintf("%.1f | %.1f to %.1f", median(v), slices.Min(v), slices.Max(v))
}

// ContestCommands are the command lines behind a comparison.
func ContestCommands(samples []Sample) string {
	var b strings.Builder
	for i := range samples {
		s := &samples[i]
		ours := "remora bench verbs --fabric rdma --json " + strings.Join(s.Ours, " ")
		theirs := fmt.Sprintf("%s -d %s -x 1 -F %s", s.Peer[0], deviceName, strings.Join(s.Peer[1:], " "))
		fmt.Fprintf(&b, "%s\n%s & %s %s\n", ours, theirs, theirs, firstAddress)
		if len(s.PinnedUS) != 0 {
			fmt.Fprintf(&b, "taskset -c 1 %s & taskset -c 0 %s %s\n", theirs, theirs, firstAddress)
		}
	}
	return b.String()
}

// VerbsTable is what remora bench verbs measured as a table for docs/results.
func VerbsTable(rows []VerbsRow) string {
	var b strings.Builder
	b.WriteString("| test | transport | bytes | window | threads x qp | ops | ops/s | p50 us | p99 us | lost |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d x %d | %d | %.0f | %.1f | %.1f | %d |\n",
			r.Test, r.Transport, r.Size, r.Window, r.Threads, r.QPs, r.Ops, r.OpsPerSec, r.P50, r.P99, r.Lost)
	}
	return b.String()
}

// Costs are the results of a benchmark that was run several times: nanoseconds
// by name.
type Costs map[string][]float64

// ParseBenchmarks reads the output of go test -bench. Of a benchmark that
// reports its own unit, that counts and not the time of one loop.
func ParseBenchmarks(text string) Costs {
	costs := Costs{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			name = name[:i] // GOMAXPROCS
		}
		var loop, own float64
		for i := 2; i+1 < len(fields); i += 2 {
			var v float64
			if _, err := fmt.Sscan(fields[i], &v); err != nil {
				break
			}
			switch unit := fields[i+1]; {
			case unit == "ns/op":
				loop = v
			case strings.HasPrefix(unit, "ns/"):
				own = v
			}
		}
		if own == 0 {
			own = loop
		}
		if own != 0 {
			costs[name] = append(costs[name], own)
		}
	}
	return costs
}

// CostTable puts costs side by side, a column for each place where they were
// measured; each value is a median.
func CostTable(order []string, places []string, columns []Costs) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| ns | %s |\n|---|%s\n", strings.Join(places, " | "), strings.Repeat("---|", len(places)))
	for _, name := range order {
		fmt.Fprintf(&b, "| %s |", name)
		for _, c := range columns {
			if v := c[name]; len(v) > 0 {
				fmt.Fprintf(&b, " %.0f |", median(v))
				continue
			}
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
