package papers

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

// WriteTable writes the figure for people: for each quantity a line for every place and a
// column for every series, with the median of the trials, and those of the paper.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	out.WriteTop(&b, &r.Remarks)
	f := &r.Figure
	fmt.Fprintf(&b, "%s, %s: %s\n  found there: %s\n  here: %s\n", f.Paper, f.Number, f.Title, f.Found, f.Ours)
	for _, q := range f.Shows {
		fmt.Fprintf(&b, "\n%s\n", q.Name)
		if err := out.WriteTable(&b, &bench.Remarks{}, r.xs, r.columns(q)); err != nil {
			return err
		}
	}
	b.WriteByte('\n')
	for _, m := range r.Missing {
		fmt.Fprintf(&b, "  not measured: %s at %s: %s\n", m.Series, m.X, strings.ReplaceAll(m.Reason.Error(), "\n", "; "))
	}
	fmt.Fprintf(&b, "  numbers are medians with their intervals; measured in shuffled rounds on %s\n", r.Size.Fabric)
	if s := bench.IntervalNote(r.Size.Trials); s != "" {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	fmt.Fprintf(&b, "  size: %s\n", &r.Size)
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) columns(q Quantity) []out.Column[string] {
	cols := []out.Column[string]{out.Right("  "+r.Figure.X, func(x *string) string { return *x })}
	for _, name := range r.names {
		cols = append(cols, out.Right(name, func(x *string) string { return r.cell(q, name, *x) }))
	}
	for _, name := range r.names {
		cols = append(cols, out.Right(name+" in the paper", func(x *string) string { return r.Figure.found(q, name, *x) }))
	}
	return cols
}

// found is what the authors found there.
func (f *Figure) found(q Quantity, series, x string) string {
	for _, a := range f.Authors {
		if a.Of.Name == q.Name && a.Series == series && slices.Contains(a.X, x) {
			return q.text(a.Y)
		}
	}
	return ""
}

// estimate is what the trials of a point say.
func (r *Report) estimate(q Quantity, series, x string) bench.Estimate {
	var ys []float64
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Series == series && row.X == x && !math.IsNaN(q.of(row)) {
			ys = append(ys, q.of(row))
		}
	}
	return bench.EstimateOf(ys)
}

func (r *Report) cell(q Quantity, series, x string) string {
	e := r.estimate(q, series, x)
	switch {
	case e.N == 0:
		return "-"
	case e.N == 1:
		return q.text(e.Median)
	}
	return fmt.Sprintf("%s (%s - %s)", q.text(e.Median), q.text(e.Low), q.text(e.High))
}
