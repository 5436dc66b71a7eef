package cache

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// section is the targets that bear one load.
type section struct {
	title string
	lines []compared
}

// compared is one target under one load.
type compared struct {
	Summary
	// group is the fabric, of others than Remora on one how they are reached.
	group string
	// ratio is to the baseline; nil where there is none.
	ratio *bench.Interval
	// best is the share of the fastest.
	best float64
}

// sections puts the summaries of a report together by load, and holds them against the
// baseline.
func (c *Compared) sections() []section {
	var out []section
	for _, s := range c.Summaries() {
		k := &c.cases[s.Median.index]
		title := loadTitle(k)
		i := slices.IndexFunc(out, func(x section) bool { return x.title == title })
		if i < 0 {
			i, out = len(out), append(out, section{title: title})
		}
		group := k.Fabric
		if !isOurs(k.Path) {
			group = "sockets"
		}
		out[i].lines = append(out[i].lines, compared{Summary: s, group: group})
	}
	for i := range out {
		c.hold(&out[i])
	}
	return out
}

// hold fills in ratios, and sorts by group and rate.
func (c *Compared) hold(s *section) {
	base := c.findBaseline(s.lines)
	top := 0.0
	for i := range s.lines {
		top = max(top, s.lines[i].Median.OpsPerSec)
	}
	for i := range s.lines {
		l := &s.lines[i]
		l.best = l.Median.OpsPerSec / top
		if base >= 0 {
			l.ratio = c.ratio(l.Median.index, base)
		}
	}
	var groups []string
	for i := range s.lines {
		groups = append(groups, s.lines[i].group)
	}
	slices.SortStableFunc(s.lines, func(a, b compared) int {
		return cmp.Or(cmp.Compare(slices.Index(groups, a.group), slices.Index(groups, b.group)), cmp.Compare(b.Median.OpsPerSec, a.Median.OpsPerSec))
	})
}

// findBaseline returns the index of the baseline's case, -1 without one.
func (c *Compared) findBaseline(lines []compared) int {
	wanted := []string{c.baseline}
	if c.baseline == "" {
		wanted = []string{PathMemcached, PathText}
	}
	for _, want := range wanted {
		path, fabric, given := strings.Cut(want, "/")
		for i := range lines {
			if m := &lines[i].Median; m.Path == path && (!given || m.Fabric == fabric) {
				return m.index
			}
		}
	}
	return -1
}

// ratio compares the medians of two cases, of the rounds in which both were measured.
func (c *Compared) ratio(index, base int) *bench.Interval {
	rates := map[int]float64{} // of the baseline, by round
	for i := range c.Rows {
		if r := &c.Rows[i]; r.index == base && r.OpsPerSec > 0 {
			rates[r.Trial] = r.OpsPerSec
		}
	}
	var xs, ys []float64
	for i := range c.Rows {
		if r := &c.Rows[i]; r.index == index && rates[r.Trial] > 0 {
			xs, ys = append(xs, r.OpsPerSec), append(ys, rates[r.Trial])
		}
	}
	if len(xs) == 0 {
		return nil
	}
	ratio := bench.RatioOf(xs, ys)
	return &ratio
}

// loadTitle says for people what a target had to do.
func loadTitle(k *Case) string {
	title := "one operation at a time"
	switch {
	case k.Goroutines != 0:
		title = fmt.Sprintf("%d goroutines share a client", k.Goroutines)
	case k.Rate != 0:
		title = out.SI(k.Rate) + " operations a second"
	case k.most() != 1:
		title = fmt.Sprintf("%d operations in flight", k.most())
	}
	if k.Clients != 1 {
		title += fmt.Sprintf(", %d clients", k.Clients)
	}
	if !k.sharing().Own() {
		title += ", placement " + k.Placement
	}
	keys := dist(&median{Median: bench.Median[Row]{Row: Row{Keys: k.Keys, Dist: k.Dist, Theta: k.Theta, ScanPct: k.ScanPct}}})
	return title + fmt.Sprintf(" (%g %% gets, %s keys, %s values)", k.GetPct, keys, out.Bytes(k.ValueSize))
}

// WriteTable writes the comparison for people: a table for each load, grouped by fabric, the
// fastest first.
func (c *Compared) WriteTable(w io.Writer) error {
	var b strings.Builder
	out.WriteTop(&b, &c.Remarks)
	for i, s := range c.sections() {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", s.title)
		if err := out.WriteTable(&b, &bench.Remarks{}, s.lines, c.columns(s.lines)); err != nil {
			return err
		}
	}
	b.WriteByte('\n')
	for i, m := range c.Missing {
		if !slices.ContainsFunc(c.Missing[:i], func(o Missing) bool { return o.Case.Path == m.Case.Path && o.Case.Fabric == m.Case.Fabric }) {
			fmt.Fprintf(&b, "  not measured: %s over %s: %v\n", m.Case.Path, m.Case.Fabric, m.Reason)
		}
	}
	for _, s := range c.Notes {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	fmt.Fprintf(&b, "  ops/s is the median of %d rounds, and the ratio that of the medians, whose interval draws whole rounds again; p50 and p99 are of the median round\n", c.rounds())
	writeIntervalNote(&b, c.rounds())
	_, err := io.WriteString(w, b.String())
	return err
}

// rounds is how many there were.
func (r *Report) rounds() (n int) {
	for i := range r.Rows {
		n = max(n, r.Rows[i].Trial)
	}
	return n
}

// writeIntervalNote says below a table what its intervals are, if it has any.
func writeIntervalNote(b *strings.Builder, rounds int) {
	if s := bench.IntervalNote(rounds); s != "" {
		fmt.Fprintf(b, "  %s\n", s)
	}
}

func (c *Compared) columns(lines []compared) []out.Column[compared] {
	name := "baseline"
	if i := c.findBaseline(lines); i >= 0 {
		name = c.cases[i].Path
		if isOurs(name) {
			name += "/" + c.cases[i].Fabric
		}
	}
	top := 0.0
	for i := range lines {
		top = max(top, lines[i].Median.OpsPerSec)
	}
	return []out.Column[compared]{
		out.Left("  fabric", func(l *compared) string { return "  " + l.group }),
		out.Left("target", func(l *compared) string { return l.Median.Path }),
		out.Right("ops/s", func(l *compared) string { return out.SI(l.Median.OpsPerSec) }),
		out.Left("interval", func(l *compared) string { return interval(l.Rate) }),
		out.Right("p50", func(l *compared) string { return out.Micros(l.Median.P50) }),
		out.Right("p99", func(l *compared) string { return out.Micros(l.Median.P99) }),
		out.Right("server CPU", func(l *compared) string { return out.PercentText(l.Median.ServerCPU, 0) }),
		out.Right("x "+name, func(l *compared) string { return times(l.ratio) }),
		out.Left("interval", func(l *compared) string { return timesInterval(l.ratio, l.Trials) }),
		out.Right("of the best", func(l *compared) string { return fmt.Sprintf("%.0f %%", 100*l.best) }),
		out.Left("", func(l *compared) string { return out.Bar(l.Median.OpsPerSec, top, barWidth) }),
	}
}

// interval writes that of the median, where there are several trials.
func interval(e bench.Estimate) string {
	if e.N < 2 {
		return ""
	}
	return out.SI(e.Low) + " - " + out.SI(e.High)
}

// times writes a ratio.
func times(r *bench.Interval) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%.3g", r.Median)
}

func timesInterval(r *bench.Interval, trials int) string {
	if r == nil || trials < 2 {
		return ""
	}
	return fmt.Sprintf("%.3g - %.3g", r.Low, r.High)
}
