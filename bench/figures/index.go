package figures

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench/out"
)

// paper is what the figures are taken from.
const paper = "Kalia, Kaminsky, Andersen: *Using RDMA Efficiently for Key-Value Services* (HERD), SIGCOMM 2014"

// WriteIndex writes what was measured for people: every figure with its picture,
// its numbers, and the commands that measure it.
func (r *Report) WriteIndex(w io.Writer) error {
	var b strings.Builder
	c := &r.Config
	fmt.Fprintf(&b, "# HERD's figures on %s\n\n", c.Fabric)
	fmt.Fprintf(&b, "The micro-benchmarks of %s,\nmeasured on the fabric `%s` by\n\n```sh\n%s\n```\n\n", paper, c.Fabric, r.command())
	fmt.Fprintf(&b, "Trials: %d of %v each, after %v of warming up, interleaved: every point is measured once before any is\n"+
		"measured again. Numbers are those of the median trial. It took %.0f s.\n", c.Trials, c.Duration, c.Warmup, r.Took.Seconds())
	if v := r.Verdict(); v != "" {
		fmt.Fprintf(&b, "\n**%s.**\n", v)
	}
	b.WriteString("\n")
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", s)
	}
	for i := range r.Figures {
		r.Figures[i].section(&b, c.Trials)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// command is what measures all of this again.
func (r *Report) command() string {
	c := &r.Config
	s := fmt.Sprintf("remora bench figure herd-verbs --out DIR --fabric %s --duration %v --warmup %v --trials %d", c.Fabric, c.Duration, c.Warmup, c.Trials)
	if len(c.Only) != 0 {
		s += " --only " + list(c.Only)
	}
	if c.Table != 0 {
		s += " --table " + strings.ReplaceAll(out.Bytes(c.Table), " ", "")
	}
	return s
}

// section writes one figure.
func (m *Measured) section(b *strings.Builder, trials int) {
	fmt.Fprintf(b, "\n## Figure %d: %s\n\n%s\n\n", m.Number, m.Title, m.About)
	fmt.Fprintf(b, "In the paper (Figure %d, on ConnectX-3): %s\n\n", m.Number, m.Paper)
	fmt.Fprintf(b, "![Figure %d: %s](%s)\n\n", m.Number, m.Title, m.SVGName())
	m.table(b)
	m.reasons(b)
	if doubts := m.doubts(); len(doubts) > 0 {
		fmt.Fprintf(b, "\nDoubtful: %s.\n", strings.Join(doubts, "; "))
	}
	fmt.Fprintf(b, "\nAll columns: [%s](%s). Each row by itself:\n\n```sh\n%s\n```\n",
		m.CSVName(), m.CSVName(), strings.Join(m.Commands(trials), "\n"))
}

// doubts are the warnings, and the trials that some points lack.
func (m *Measured) doubts() []string {
	doubts := slices.Clone(m.Warnings)
	for i := range m.Outcomes {
		if o := &m.Outcomes[i]; len(o.Rows) > 0 && len(o.Failures) > 0 {
			doubts = append(doubts, fmt.Sprintf("%s at %s has %d trials, of the others one %s", o.Series, o.place(), len(o.Rows), o.Failures[0]))
		}
	}
	return doubts
}

// table writes a line for every place of the horizontal axis and a column for
// every series.
func (m *Measured) table(b *strings.Builder) {
	series := m.series()
	fmt.Fprintf(b, "Here, %s:\n\n| %s | %s |\n|---|%s\n", m.Y.name(), m.XLabel, strings.Join(series, " | "), strings.Repeat("---:|", len(series)))
	for _, place := range unique(m.Outcomes, func(o *Outcome) string { return o.place() }) {
		fmt.Fprintf(b, "| %s |", place)
		for _, name := range series {
			fmt.Fprintf(b, " %s |", m.cell(name, place))
		}
		b.WriteString("\n")
	}
}

// cell is the number of a series at a place.
func (m *Measured) cell(series, place string) string {
	for i := range m.Outcomes {
		o := &m.Outcomes[i]
		if o.Series != series || o.place() != place {
			continue
		}
		row := o.median(m.Y)
		switch {
		case row == nil:
			return "-"
		case m.Y == Latency:
			return out.Micros(row.P50)
		default:
			return out.SI(row.OpsPerSec)
		}
	}
	return ""
}

// reasons says why points are missing.
func (m *Measured) reasons(b *strings.Builder) {
	missing := false
	for i := range m.Outcomes {
		o := &m.Outcomes[i]
		if o.median(m.Y) != nil {
			continue
		}
		if !missing {
			b.WriteString("\nNot measured:\n\n")
			missing = true
		}
		fmt.Fprintf(b, "- %s at %s: %s\n", o.Series, o.place(), o.reason())
	}
}
