package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/out"
)

// table is that of all cases.
type table struct {
	Head []headCell
	Rows []tableRow
}

type headCell struct {
	Name    string
	Hint    string
	Numeric bool
}

// tableRow is one case.
type tableRow struct {
	Case  int
	Color int
	Cells []tableCell
}

// tableCell is what is shown, and by what it is sorted.
type tableCell struct {
	Text, Sort string
	Numeric    bool
	HasBar     bool
	Bar        int // percent of the longest, of throughput
}

// column is one of the table; those without a value in any row are left out.
type column struct {
	name, hint string
	of         func(m *measured) (show string, sort float64)
}

var columns = []column{
	{"ops/s", "median of the trials", func(m *measured) (string, float64) { return out.SI(m.ops.Median), m.ops.Median }},
	{"interval", "interval of the median; sorted by its length", func(m *measured) (string, float64) {
		return out.Unless(m.ops.N < 2, out.SI(m.ops.Low)+" - "+out.SI(m.ops.High)), m.ops.High - m.ops.Low
	}},
	{"p50", "half of the operations took no longer", micros(func(m *measured) float64 { return m.median.P50 })},
	{"p95", "", micros(func(m *measured) float64 { return m.median.P95 })},
	{"p99", "", micros(func(m *measured) float64 { return m.median.P99 })},
	{"p99.9", "", micros(func(m *measured) float64 { return m.median.P999 })},
	{"max", "the longest of all operations, where all were timed", func(m *measured) (string, float64) {
		if m.median.Max == nil {
			return "-", math.Inf(1)
		}
		return micro(*m.median.Max), *m.median.Max
	}},
	{"verbs/op", "posted by both sides for one operation", func(m *measured) (string, float64) {
		v, _ := m.median.fields["verbs_per_op"].(load.VerbsPerOp)
		sum := v.Write + v.Read + v.Send + v.Atomic
		return out.Unless(sum == 0, fmt.Sprintf("%.2f", sum)), sum
	}},
	{"client CPU", "percent of one CPU", share(func(m *measured) *float64 { return m.median.ClientCPU })},
	{"server CPU", "percent of one CPU", share(func(m *measured) *float64 { return m.median.ServerCPU })},
	{"hits", "share of gets that found their item", func(m *measured) (string, float64) {
		h, _ := m.median.fields["hit_ratio"].(*float64)
		if h == nil || *h == 1 {
			return "", 1
		}
		return fmt.Sprintf("%.2f %%", 100**h), *h
	}},
	{"errors", "operations that the server refused", func(m *measured) (string, float64) {
		n := float64(m.median.Errors)
		return out.Unless(n == 0, out.SI(n)), n
	}},
	{"samples", "operations that were timed", func(m *measured) (string, float64) {
		n := float64(m.median.Samples)
		return out.SI(n), n
	}},
	{"trials", "", func(m *measured) (string, float64) { return strconv.Itoa(m.ops.N), float64(m.ops.N) }},
}

// micros is a percentile.
func micros(of func(*measured) float64) func(*measured) (string, float64) {
	return func(m *measured) (string, float64) {
		if !m.median.ranked() {
			return "-", math.Inf(1)
		}
		return micro(of(m)), of(m)
	}
}

func share(of func(*measured) *float64) func(*measured) (string, float64) {
	return func(m *measured) (string, float64) {
		p := of(m)
		if p == nil {
			return "", -1
		}
		return out.PercentText(p, 0), *p
	}
}

func (s *results) table() table {
	t := table{Rows: make([]tableRow, len(s.cases))}
	top := 0.0
	for i, m := range s.cases {
		t.Rows[i] = tableRow{Case: i, Color: s.color(i)}
		top = max(top, m.ops.Median)
	}
	for k, f := range s.facets {
		t.Head = append(t.Head, headCell{Name: f.Name})
		for i, m := range s.cases {
			t.Rows[i].Cells = append(t.Rows[i].Cells, tableCell{Text: m.parts[k], Sort: strconv.Itoa(m.facets[k])})
		}
	}
	for k, c := range columns {
		var cells []tableCell
		used := false
		for _, m := range s.cases {
			show, sort := c.of(m)
			used = used || show != ""
			cell := tableCell{Text: show, Sort: strconv.FormatFloat(sort, 'g', -1, 64), Numeric: true}
			if k == 0 && top > 0 {
				cell.HasBar, cell.Bar = true, int(100*m.ops.Median/top+0.5)
			}
			cells = append(cells, cell)
		}
		if !used {
			continue
		}
		t.Head = append(t.Head, headCell{c.name, c.hint, true})
		for i := range cells {
			t.Rows[i].Cells = append(t.Rows[i].Cells, cells[i])
		}
	}
	return t
}
