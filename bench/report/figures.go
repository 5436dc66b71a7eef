package report

import (
	"strings"

	"github.com/remora-kv/remora/bench/out"
)

// figure is one chart of the page, in all its forms.
type figure struct {
	ID, Title, About string
	// Alt says in words what is to be seen.
	Alt   string
	image *out.Figure
	data  *sheet // all that it shows
	table *sheet // the same for people, if that is too much
	// Modes are what the reader can choose to see, the first at the beginning; Unit is
	// what the choice is called.
	Unit  string
	Modes []mode
}

// mode is a choice.
type mode struct{ Value, Name string }

// figures are those of the page. One that nothing is known for is left out.
func (s *results) figures(d *data) []*figure {
	out := []*figure{s.throughput(), s.latency()}
	if len(d.Shares) > 0 {
		out = append(out, s.distribution(d))
	}
	if len(d.Times) > 0 {
		out = append(out, s.timeline(d))
	}
	return out
}

func (s *results) throughput() *figure {
	l := &out.Figure{
		Title: "Throughput", Bars: true, Flat: true,
		Y: out.Axis{Label: "operations per second", Unit: out.PerSecond},
	}
	f := &figure{
		ID: "throughput", Title: "Throughput", image: l,
		About: "Operations per second: the median of the trials, with its interval where there is more than one.",
		data:  &sheet{head: []string{"case", "trials", "ops_per_sec", "low", "high"}},
		table: &sheet{head: []string{"case", "trials", "median", "interval from", "to"}},
	}
	for _, name := range s.targets {
		l.Series = append(l.Series, out.Series{Name: name})
	}
	best := 0
	for i, m := range s.cases {
		l.X.Names = append(l.X.Names, m.label)
		line := &l.Series[m.target]
		line.Points = append(line.Points, out.Point{X: float64(i), Y: m.ops.Median, Low: m.ops.Low, High: m.ops.High})
		f.data.add(m.label, m.ops.N, m.ops.Median, m.ops.Low, m.ops.High)
		f.table.add(m.label, m.ops.N, out.SI(m.ops.Median), spread(m.ops, m.ops.Low), spread(m.ops, m.ops.High))
		if m.ops.Median > s.cases[best].ops.Median {
			best = i
		}
	}
	f.Alt = "Bars of the throughput of each case. The highest is " + s.cases[best].label + " with " + out.SI(s.cases[best].ops.Median) + " operations per second."
	return f
}

// spread writes what there is only of several trials.
func spread(e estimate, x float64) string { return out.Unless(e.N < 2, out.SI(x)) }

func (s *results) latency() *figure {
	c := &out.Figure{
		Title: "Latency against throughput",
		X:     out.Axis{Label: "operations per second", Unit: out.PerSecond, Log: s.wide()},
		Y:     out.Axis{Label: "99th percentile of latency", Unit: out.Micro, Log: true},
	}
	f := &figure{
		ID: "latency", Title: "Latency against throughput", image: c,
		About: "Each point is a case, each line a target under its loads in the order in which they were measured. Down and to the right is better.",
		Alt:   "A point for each case: its throughput to the right, its latency upwards.",
		data:  &sheet{head: []string{"target", "load", "ops_per_sec", "mean_us", "p50_us", "p95_us", "p99_us", "p999_us"}},
		table: &sheet{head: []string{"target", "load", "ops/s", "mean", "p50", "p95", "p99", "p99.9"}},
		Unit:  "latency", Modes: []mode{{"p50", "p50"}, {"p95", "p95"}, {"p99", "p99"}, {"p999", "p99.9"}, {"mean", "mean"}},
	}
	for i, name := range s.targets {
		line := out.Series{Name: name}
		for _, m := range s.cases {
			if m.target != i {
				continue
			}
			r := m.median
			if !r.ranked() {
				f.data.add(name, m.load, m.ops.Median, r.Mean, "", "", "", "")
				f.table.add(name, m.load, out.SI(m.ops.Median), micro(r.Mean), "", "", "", "")
				continue
			}
			line.Points = append(line.Points, out.Point{X: m.ops.Median, Y: r.P99})
			f.data.add(name, m.load, m.ops.Median, r.Mean, r.P50, r.P95, r.P99, r.P999)
			f.table.add(name, m.load, out.SI(m.ops.Median), micro(r.Mean), micro(r.P50), micro(r.P95), micro(r.P99), micro(r.P999))
		}
		c.Series = append(c.Series, line)
	}
	return f
}

// wide reports whether rates lie so far apart that only their logarithms can be seen.
func (s *results) wide() bool {
	const far = 20
	low, high := s.cases[0].ops.Median, 0.0
	for _, m := range s.cases {
		low, high = min(low, m.ops.Median), max(high, m.ops.Median)
	}
	return low > 0 && high > far*low
}

func (s *results) distribution(d *data) *figure {
	c := &out.Figure{
		Title: "Distribution of latency", Plain: true,
		X: out.Axis{Label: "latency", Unit: out.Micro, Log: true}, Y: out.Axis{Label: "share of operations", Unit: out.Share},
	}
	f := &figure{
		ID: "cdf", Title: "Distribution of latency", image: c,
		About: "The share of operations that took no longer. The tail shows what the last of them took: each line up is one nine more.",
		Alt:   "A curve for each case, from its shortest to its longest latency.",
		data:  &sheet{head: []string{"case", "share", "us"}},
		table: &sheet{head: []string{"case", "shortest", "10 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %", "longest timed"}},
		Unit:  "scale", Modes: []mode{{"cdf", "all"}, {"tail", "tail"}},
	}
	for i, m := range s.cases {
		line := out.Series{Name: m.label}
		at := make(map[float64]float64)
		for k, us := range d.Cases[i].CDF {
			if us != nil {
				line.Points = append(line.Points, out.Point{X: *us, Y: d.Shares[k]})
				f.data.add(m.label, d.Shares[k], *us)
				at[d.Shares[k]] = *us
			}
		}
		c.Series = append(c.Series, line)
		row := []any{m.label}
		for _, share := range []float64{0, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
			us, ok := at[share]
			row = append(row, out.Unless(!ok, micro(us)))
		}
		f.table.add(row...)
	}
	return f
}

func (s *results) timeline(d *data) *figure {
	c := &out.Figure{
		Title: "Throughput over time", Plain: true,
		X: out.Axis{Label: "time", Unit: out.Second}, Y: out.Axis{Label: "operations per second", Unit: out.PerSecond},
	}
	f := &figure{
		ID: "timeline", Title: "Throughput over time", image: c,
		About: "Operations per second in each interval of the median trial. A stall is a gap; drag to look closer, double-click to return.",
		Alt:   "A line for each case: its throughput from the beginning of its trial to the end.",
		data:  &sheet{head: []string{"case", "seconds", "ops_per_sec"}},
		table: &sheet{head: []string{"case", "lowest", "mean", "highest"}},
		Unit:  "scale", Modes: []mode{{"rate", "ops/s"}, {"relative", "relative"}},
	}
	for i, m := range s.cases {
		line := out.Series{Name: m.label}
		low, high, sum := 0.0, 0.0, 0.0
		for k, rate := range d.Cases[i].Line {
			if rate == nil {
				continue
			}
			if len(line.Points) == 0 {
				low = *rate
			}
			low, high, sum = min(low, *rate), max(high, *rate), sum+*rate
			line.Points = append(line.Points, out.Point{X: d.Times[k], Y: *rate})
			f.data.add(m.label, d.Times[k], *rate)
		}
		c.Series = append(c.Series, line)
		if n := len(line.Points); n > 0 {
			f.table.add(m.label, out.SI(low), out.SI(sum/float64(n)), out.SI(high))
		}
	}
	return f
}

// micro writes microseconds as a page can.
func micro(us float64) string { return strings.Replace(out.Micros(us), " us", " µs", 1) }
