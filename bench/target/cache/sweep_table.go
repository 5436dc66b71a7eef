package cache

import (
	"fmt"
	"io"
	"strings"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// WriteTable writes the sweep for people: a line for each point, and a small chart of each
// series with its knee.
func (s *Swept) WriteTable(w io.Writer) error {
	var b strings.Builder
	out.WriteTop(&b, &s.Remarks)
	if err := out.WriteTable(&b, &bench.Remarks{}, s.points, s.columns()); err != nil {
		return err
	}
	s.charts(&b)
	b.WriteByte('\n')
	for _, m := range s.Missing {
		fmt.Fprintf(&b, "  not measured: %s: %v\n", m.Case.Title(), m.Reason)
	}
	for _, t := range s.Notes {
		fmt.Fprintf(&b, "  %s\n", t)
	}
	writeIntervalNote(&b, s.rounds())
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Swept) columns() []out.Column[sweptPoint] {
	top := 0.0
	for i := range s.points {
		top = max(top, s.points[i].Median.OpsPerSec)
	}
	var cols []out.Column[sweptPoint]
	named := map[string]bool{}
	for i, axis := range s.axes {
		named[axis] = true
		cols = append(cols, out.Right(axis, func(p *sweptPoint) string { return p.values[i] }))
	}
	for _, c := range []struct {
		axis string
		of   func(r *Row) string
	}{
		{"path", func(r *Row) string { return r.Path }},
		{"fabric", func(r *Row) string { return r.Fabric }},
		{"engine", func(r *Row) string { return out.Unless(r.Engine == r.Path, r.Engine) }},
	} {
		if !named[c.axis] {
			cols = append(cols, out.Left(c.axis, func(p *sweptPoint) string { return c.of(&p.Median) }))
		}
	}
	return append(cols,
		out.Right("ops/s", func(p *sweptPoint) string { return out.SI(p.Median.OpsPerSec) }),
		out.Left("interval", func(p *sweptPoint) string { return interval(p.Rate) }),
		out.Right("mean", func(p *sweptPoint) string { return out.Micros(p.Median.Mean) }),
		out.Right("p50", func(p *sweptPoint) string { return out.Micros(p.Median.P50) }),
		out.Right("p99", func(p *sweptPoint) string { return out.Micros(p.Median.P99) }),
		out.Right("client CPU", func(p *sweptPoint) string { return out.PercentText(p.Median.ClientCPU, 0) }),
		out.Right("server CPU", func(p *sweptPoint) string { return out.PercentText(p.Median.ServerCPU, 0) }),
		out.Right("hits", func(p *sweptPoint) string {
			return hits(&median{Median: bench.Median[Row]{Row: p.Median}})
		}),
		out.Right("errors", func(p *sweptPoint) string { return out.Unless(p.Median.Errors == 0, fmt.Sprint(p.Median.Errors)) }),
		out.Left("", func(p *sweptPoint) string {
			return out.Bar(p.Median.OpsPerSec, top, barWidth) + out.Unless(!p.knee, " < knee")
		}),
	)
}

// charts draws each series that has several points as one line.
func (s *Swept) charts(b *strings.Builder) {
	names, points := s.bySeries()
	begun := false
	for _, name := range names {
		list := points[name]
		if len(list) < 2 {
			continue
		}
		if !begun {
			fmt.Fprintf(b, "\nops/s over %s\n", s.axes[0])
			begun = true
		}
		var ys []float64
		knee := ""
		for _, p := range list {
			ys = append(ys, p.Median.OpsPerSec)
			if p.knee {
				knee = fmt.Sprintf(", knee at %s", p.values[0])
			}
		}
		fmt.Fprintf(b, "  %s  %s (%s to %s)%s\n", out.Sparks(ys), name, list[0].values[0], list[len(list)-1].values[0], knee)
	}
}
