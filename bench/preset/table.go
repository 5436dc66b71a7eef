package preset

import (
	"fmt"
	"io"
	"strings"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/out"
)

// The quantities.
func rate() Quantity {
	return Quantity{"ops/s", func(r *Row) float64 { return r.OpsPerSec }, out.SI}
}

func mean() Quantity {
	return Quantity{"mean latency", func(r *Row) float64 { return r.Mean }, out.Micros}
}

func p50() Quantity {
	return Quantity{"median latency", func(r *Row) float64 { return r.P50 }, out.Micros}
}

func p95() Quantity {
	return Quantity{"p95 latency", func(r *Row) float64 { return r.P95 }, out.Micros}
}

func p99() Quantity {
	return Quantity{"p99 latency", func(r *Row) float64 { return r.P99 }, out.Micros}
}

func serverCPU() Quantity {
	return Quantity{"server CPU", func(r *Row) float64 {
		if r.ServerCPU == nil {
			return 0
		}
		return *r.ServerCPU
	}, func(x float64) string { return fmt.Sprintf("%.0f %%", x) }}
}

// WriteTable writes the figure for people: for each quantity a line for every place and a
// column for every series, with the mean of the trials.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	out.WriteTop(&b, &r.Remarks)
	p := &r.Preset
	fmt.Fprintf(&b, "%s, %s: %s\n  found there: %s\n  here: %s\n", p.Paper, p.Figure, p.Title, p.Found, p.Ours)
	for _, q := range p.Shows {
		fmt.Fprintf(&b, "\n%s\n", q.Name)
		if err := out.WriteTable(&b, &bench.Remarks{}, r.xs, r.columns(q)); err != nil {
			return err
		}
	}
	b.WriteByte('\n')
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "  not measured: %s at %s: %v\n", m.Series, m.X, m.Reason)
	}
	fmt.Fprintf(&b, "  numbers are means, ± half of the 95 %% confidence interval; measured in shuffled rounds on %s\n", r.Size.Fabric)
	fmt.Fprintf(&b, "  size: %s\n", &r.Size)
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) columns(q Quantity) []out.Column[string] {
	cols := []out.Column[string]{out.Right("  "+r.Preset.X, func(x *string) string { return *x })}
	for _, name := range r.names {
		cols = append(cols, out.Right(name, func(x *string) string { return r.cell(q, name, *x) }))
	}
	return cols
}

// cell is what the trials of a point say.
func (r *Report) cell(q Quantity, series, x string) string {
	var xs []float64
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Series == series && row.X == x {
			xs = append(xs, q.of(row))
		}
	}
	e := bench.EstimateOf(xs)
	switch {
	case e.N == 0:
		return "-"
	case e.N == 1 || e.Mean == 0:
		return q.text(e.Mean)
	}
	return fmt.Sprintf("%s ± %.0f %%", q.text(e.Mean), 100*e.CI95/e.Mean)
}
