package report

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/bench"
)

// trial is a row of any benchmark: what all of them have, and its other fields by their names
// in JSON.
type trial struct {
	*bench.Measure
	fields map[string]any
}

// trialsOf looks into rows, structures that embed bench.Measure.
func trialsOf[R any](rows []R) (all []*trial) {
	for i := range rows {
		t := &trial{fields: map[string]any{}}
		v := reflect.ValueOf(&rows[i]).Elem()
		for k := range v.NumField() {
			if !v.Type().Field(k).IsExported() {
				continue
			}
			name, _, _ := strings.Cut(v.Type().Field(k).Tag.Get("json"), ",")
			if m, ok := v.Field(k).Addr().Interface().(*bench.Measure); ok {
				t.Measure = m
			} else if name != "" {
				t.fields[name] = v.Field(k).Interface()
			}
		}
		all = append(all, t)
	}
	return all
}

// measured is a case with what its trials found.
type measured struct {
	rows   []*trial
	median *trial   // by throughput
	ops    estimate // of operations in a second

	values []string // of all dimensions, in turn
	label  string
	target int      // index of what was measured
	load   string   // the part of the label that is not the target
	facets []int    // of each facet, the index of its value
	parts  []string // the values of the facets
}

// facet is a dimension in which cases differ, with its values.
type facet struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	dim    *dimension
	index  int // of the dimension
}

// results are all cases, and what tells them apart.
type results struct {
	cases   []*measured
	facets  []facet
	targets []string
	shared  []string // what all cases have in common: "value 32 B"
}

// study groups rows by case, in the order in which these were measured first.
func study(rows []*trial) *results {
	s := &results{}
	byKey := make(map[string]*measured)
	for _, row := range rows {
		var values []string
		for k := range dimensions {
			values = append(values, dimensions[k].of(row))
		}
		key := strings.Join(values, "\x00")
		m := byKey[key]
		if m == nil {
			m = &measured{values: values}
			byKey[key] = m
			s.cases = append(s.cases, m)
		}
		m.rows = append(m.rows, row)
	}
	for _, m := range s.cases {
		m.settle()
	}
	s.findFacets()
	s.sort()
	s.name()
	return s
}

// sort puts cases in the order of their facets: words as they came first, for rounds may be
// shuffled, and numbers by their size.
func (s *results) sort() {
	for k := range s.facets {
		f := &s.facets[k]
		size := func(m *measured) float64 {
			v := m.median.fields[f.dim.field]
			if text, ok := v.(string); ok {
				x, _ := strconv.ParseFloat(text, 64) // 0 for a word
				return x
			}
			return number(v)
		}
		byValue := map[string]float64{}
		for _, m := range s.cases {
			byValue[m.values[f.index]] = size(m)
		}
		slices.SortStableFunc(f.Values, func(a, b string) int { return cmp.Compare(byValue[a], byValue[b]) })
		for _, m := range s.cases {
			m.facets[k] = slices.Index(f.Values, m.values[f.index])
		}
	}
	slices.SortStableFunc(s.cases, func(a, b *measured) int { return slices.Compare(a.facets, b.facets) })
}

// settle finds the median trial and its interval (W5).
func (m *measured) settle() {
	var rates []float64
	order := slices.Clone(m.rows)
	for _, row := range m.rows {
		rates = append(rates, row.OpsPerSec)
	}
	slices.SortStableFunc(order, func(a, b *trial) int { return cmp.Compare(a.OpsPerSec, b.OpsPerSec) })
	m.median = order[len(order)/2]
	m.ops = estimateOf(rates)
}

// findFacets chooses the dimensions that labels need: each tells cases apart that those
// before it do not, but for those that are kept. The first that is known, such as the path, is always one.
func (s *results) findFacets() {
	sofar := make([]string, len(s.cases))
	always := s.firstKnown()
	for k := range dimensions {
		first := make(map[string]string) // the value of the first case with the same label so far
		differ, vary := k == always, false
		for i, m := range s.cases {
			v, seen := first[sofar[i]]
			if !seen {
				first[sofar[i]] = m.values[k]
			}
			differ = differ || seen && v != m.values[k]
			vary = vary || m.values[k] != s.cases[0].values[k]
		}
		if !differ && !(vary && dimensions[k].kept) {
			if d := &dimensions[k]; !vary && len(s.cases) > 0 && s.cases[0].values[k] != "" {
				s.shared = append(s.shared, d.name+" "+s.cases[0].values[k])
			}
			continue
		}
		f := facet{Name: s.nameOf(&dimensions[k]), dim: &dimensions[k], index: k}
		for i, m := range s.cases {
			at := slices.Index(f.Values, m.values[k])
			if at < 0 {
				at, f.Values = len(f.Values), append(f.Values, m.values[k])
			}
			m.facets = append(m.facets, at)
			sofar[i] += "\x00" + m.values[k]
		}
		s.facets = append(s.facets, f)
	}
}

// nameOf is the name of a dimension: places along the axis of a figure are what the axis is.
func (s *results) nameOf(d *dimension) string {
	const place, axis = "x", "axis"
	name, _ := s.cases[0].median.fields[axis].(string)
	one := !slices.ContainsFunc(s.cases, func(m *measured) bool { return m.median.fields[axis] != name })
	if d.field == place && one && name != "" {
		return name
	}
	return d.name
}

// firstKnown is the first dimension that any case has a value of.
func (s *results) firstKnown() int {
	for k := range dimensions {
		if slices.ContainsFunc(s.cases, func(m *measured) bool { return m.values[k] != "" }) {
			return k
		}
	}
	return 0
}

// name makes the labels and finds the targets.
func (s *results) name() {
	for _, m := range s.cases {
		var target, load []string
		for i := range s.facets {
			f := &s.facets[i]
			value := m.values[f.index]
			m.parts = append(m.parts, value)
			part := f.dim.part(value)
			switch {
			case part == "":
			case f.dim.target:
				target = append(target, part)
			default:
				load = append(load, part)
			}
		}
		name := strings.Join(target, " · ")
		if m.target = slices.Index(s.targets, name); m.target < 0 {
			m.target, s.targets = len(s.targets), append(s.targets, name)
		}
		m.load = strings.Join(load, " · ")
		m.label = strings.Join(append(target, load...), " · ")
	}
}
