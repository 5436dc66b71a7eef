package report

import (
	"encoding/json"
	"errors"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/bench/papers"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
)

func TestWriteMakesAllFiles(t *testing.T) {
	dir := write(t, sampleReport())
	for _, name := range []string{"throughput", "latency", "cdf", "timeline"} {
		svg, err := os.ReadFile(filepath.Join(dir, "fig-"+name+".svg"))
		if err != nil || !strings.Contains(string(svg), "memcached") {
			t.Errorf("%s: %v, or nothing of memcached", name, err)
		}
		f, err := os.Open(filepath.Join(dir, "fig-"+name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.DecodeConfig(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = f.Close()
	}
	rows, err := os.ReadFile(filepath.Join(dir, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(rows)), "\n")
	var first cache.Row
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != 27 || len(first.Timeline.Ops) != 100 || len(first.Quantiles) != 41 {
		t.Errorf("%v: %d lines, the first is %+v", err, len(lines), first)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "rows.csv")); err != nil || strings.Count(string(text), "\n") != 28 {
		t.Errorf("rows.csv: %v, %d lines", err, strings.Count(string(text), "\n"))
	}
	if err := (&Report[cache.Row]{}).Write(dir); !errors.Is(err, ErrEmpty) {
		t.Errorf("no rows: %v", err)
	}
}

// W4.
func TestOnlyReportsAreOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "report")
	r := sampleReport()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(dir, "fig-old.svg")
	if err := os.WriteFile(stale, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a figure of an older report stays")
	}
	for name, text := range map[string]string{"index.html": "<!DOCTYPE html><title>Mine</title>", "thesis.tex": "precious"} {
		other := t.TempDir()
		file := filepath.Join(other, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(other); !errors.Is(err, bench.ErrUsage) || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%s has become %q", name, got)
		}
		if err := Prepare(file); !errors.Is(err, bench.ErrUsage) {
			t.Errorf("a file as a directory: %v", err)
		}
	}
}

// Labels say what tells cases apart, and no more but for batches: a window counts them.
func TestLabels(t *testing.T) {
	label := func(rows ...cache.Row) (out []string) {
		for _, m := range study(trialsOf(rows)).cases {
			out = append(out, m.label)
		}
		return out
	}
	rfp, mem := sampleRow("rfp", 1, 1, 10, 1), sampleRow("memcached", 1, 1, 5, 2)
	mem.Fabric, mem.Engine, mem.Client = "tcp", "memcached", "pipeline"
	if got := label(rfp, mem, rfp); !slices.Equal(got, []string{"rfp", "memcached"}) {
		t.Errorf("%q", got)
	}
	tcp, big := rfp, rfp
	tcp.Fabric, big.ValueSize, big.Batch = "tcp", 1024, 16
	if got := label(rfp, tcp, mem, big); !slices.Equal(got, []string{"rfp · shm · value 32 B · batch 1", "rfp · shm · value 1 KiB · batch 16", "rfp · tcp · value 32 B · batch 1", "memcached · tcp · value 32 B · batch 1"}) {
		t.Errorf("%q", got)
	}
	many := rfp
	many.Window, many.Batch = 4, 4
	if got := label(rfp, many); !slices.Equal(got, []string{"rfp · window 1 · batch 1", "rfp · window 4 · batch 4"}) {
		t.Errorf("%q", got)
	}
	s := study(trialsOf([]cache.Row{rfp, tcp, mem}))
	if !slices.Contains(s.shared, "value 32 B") || slices.ContainsFunc(s.shared, func(x string) bool { return strings.HasPrefix(x, "fabric") }) {
		t.Errorf("in common: %q", s.shared)
	}
}

// Every dimension is a parameter of some rows.
func TestDimensionsAreFields(t *testing.T) {
	var known []string
	for _, names := range [][]string{
		out.Columns[cache.Row](), out.Columns[calls.Row](), out.Columns[verbs.Row](), out.Columns[kvl.Row](), out.Columns[papers.Row](),
	} {
		known = append(known, names...)
	}
	for _, d := range dimensions {
		if !slices.Contains(known, d.field) {
			t.Errorf("no row has a field %q", d.field)
		}
	}
}

// Rows of all benchmarks make a report: what they have in common is a part of each.
func TestRowsOfAnyBenchmark(t *testing.T) {
	measure := bench.Measure{OpsPerSec: 1e6, P50: 1, P99: 2, Trial: 1}
	label := func(all []*trial) string {
		s := study(all)
		return s.cases[0].label + " | " + s.cases[1].label
	}
	for got, want := range map[string]string{
		label(trialsOf([]calls.Row{{Path: "rfp", Batch: 1, Measure: measure}, {Path: "rfp", Batch: 4, Measure: measure}})):                                                "rfp · batch 1 | rfp · batch 4",
		label(trialsOf([]verbs.Row{{Test: "read", Size: 8, Measure: measure}, {Test: "read", Size: 64, Measure: measure}})):                                               "read · size 8 B | read · size 64 B",
		label(trialsOf([]kvl.Row{{App: "page", Path: "links", Measure: measure}, {App: "page", Path: "rfp", Measure: measure}})):                                          "links | rfp",
		label(trialsOf([]papers.Row{{Preset: "herd-fig9", Series: "HERD", X: "95", Measure: measure}, {Preset: "herd-fig9", Series: "HERD", X: "50", Measure: measure}})): "HERD · 50 | HERD · 95",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	dir := t.TempDir()
	r := Report[papers.Row]{
		Rows:     []papers.Row{{Series: "HERD", X: "95", Measure: measure}},
		Pictures: []Picture{{ID: "herd-fig9", Title: "HERD", About: "found: <b>", Figure: &out.Figure{Title: "t"}}},
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, IndexName))
	if err != nil || !strings.Contains(string(page), `<img src="data:image/svg&#43;xml;base64,`) || !strings.Contains(string(page), "found: &lt;b&gt;") {
		t.Errorf("%v, or the picture is not in the page", err)
	}
	for _, name := range []string{"fig-herd-fig9.svg", "fig-herd-fig9.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// Curves are drawn over the parameter with the most values.
func TestOver(t *testing.T) {
	var rows []cache.Row
	for trial := 1; trial <= 3; trial++ {
		for _, batch := range []int{16, 1, 4} {
			rows = append(rows, sampleRow("rfp", batch, trial, float64(batch)*1e6, 1), sampleRow("redis", batch, trial, float64(batch)*1e4, 100))
		}
	}
	all := study(trialsOf(rows)).over()
	if len(all) != 2 || all[0].Title != "Throughput over batch" {
		t.Fatalf("%+v", all)
	}
	f := all[0].Figure
	if len(f.Series) != 2 || f.Series[1].Name != "redis" || !f.X.Log || !f.Y.Log || !slices.Equal(f.X.Ticks, []float64{1, 4, 16}) {
		t.Errorf("%+v", f)
	}
	if p := f.Series[0].Points; len(p) != 3 || p[0].X != 1 || p[2].X != 16 || !(p[0].High > p[0].Y && p[0].Low < p[0].Y) {
		t.Errorf("%+v", p)
	}
	if got := study(trialsOf(rows[:2])).over(); got != nil {
		t.Errorf("over nothing: %+v", got)
	}
}

// What follows from the parameter is no other line: larger values take more memory.
func TestOverWhatOthersFollow(t *testing.T) {
	var rows []cache.Row
	for _, n := range []int{32, 512, 2048} {
		r := sampleRow("rfp", 1, 1, 1e6, 1)
		r.ValueSize, r.FetchSize, r.Memory = n, n+16, int64(n)<<20
		rows = append(rows, r)
	}
	all := study(trialsOf(rows)).over()
	if len(all) != 2 || all[0].Title != "Throughput over value" || len(all[0].Figure.Series) != 1 {
		t.Errorf("%+v", all)
	}
}

// No curve is drawn through windows of paths with batches and of paths without.
func TestNoCurveOverTwoLoads(t *testing.T) {
	var rows []cache.Row
	for _, n := range []int{1, 4} {
		batched, single := sampleRow("rfp", n, 1, 1, 1), sampleRow("herd", 1, 1, 1, 1)
		batched.Window, single.Window = n, n*n
		rows = append(rows, batched, single)
	}
	if got := study(trialsOf(rows)).over(); got != nil {
		t.Errorf("%+v", got)
	}
}

// A case that was timed as a whole has a mean and no percentiles.
func TestCasesWithoutPercentiles(t *testing.T) {
	whole := kvl.Row{App: "search", Path: "links", Measure: bench.Measure{OpsPerSec: 9, Mean: 1, P50: 1, P99: 1, Samples: 1, Quantiles: []load.Quantile{{0.5, 1}}}}
	each := kvl.Row{App: "item", Path: "links", Measure: bench.Measure{OpsPerSec: 8, Mean: 3, P50: 2, P99: 4, Samples: 100}}
	s := study(trialsOf([]kvl.Row{whole, each}))
	d := s.data()
	if c := &d.Cases[0]; c.Latency.P99 != nil || c.Latency.Mean != 1 || slices.ContainsFunc(c.CDF, func(us *float64) bool { return us != nil }) {
		t.Errorf("%+v", c)
	}
	for _, c := range s.cards()[1:] {
		if c.Of != "links · item" {
			t.Errorf("%+v", c)
		}
	}
	if n := len(s.latency().image.Series[0].Points); n != 1 {
		t.Errorf("%d points", n)
	}
	if cards := study(trialsOf([]kvl.Row{whole})).cards(); len(cards) != 1 {
		t.Errorf("%+v", cards)
	}
}

// Time lines with intervals of different lengths are shown over the same times.
func TestTimelinesOfDifferentIntervals(t *testing.T) {
	a, b := sampleRow("rfp", 1, 1, 1000, 1), sampleRow("redis", 1, 1, 1000, 1)
	a.Timeline = &load.Timeline{EveryMillis: 10, Ops: []uint64{10, 10, 10, 20, 20, 20, 5}}
	b.Timeline = &load.Timeline{EveryMillis: 30, Ops: []uint64{60, 90}}
	d := study(trialsOf([]cache.Row{a, b})).data()
	if !slices.Equal(d.Times, []float64{0.015, 0.045}) {
		t.Fatalf("times %v", d.Times)
	}
	for i, want := range [][]float64{{1000, 2000}, {2000, 3000}} {
		for k, rate := range want {
			if got := d.Cases[i].Line[k]; got == nil || math.Abs(*got-rate) > 1 {
				t.Errorf("case %d at %v: %v, want %v", i, d.Times[k], got, rate)
			}
		}
	}
}

// Graphics need a contrast of 3 to 1 with what is behind them (WCAG 1.4.11).
func TestPaletteCanBeSeen(t *testing.T) {
	for i, c := range palette {
		for k, page := range []string{lightPage, darkPage} {
			if got := contrast(t, c[k], page); got < 3 {
				t.Errorf("colour %d, %s on %s: %.2f to 1", i, c[k], page, got)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(s string) float64 {
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(s[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			x := float64(n) / 255
			if x <= 0.03928 {
				x /= 12.92
			} else {
				x = math.Pow((x+0.055)/1.055, 2.4)
			}
			sum += weight * x
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestCommandLineIsForAShell(t *testing.T) {
	got := CommandLine([]string{"remora", "bench", "cache", "--path", "rfp,redis", "--cache", "10%", "", "it's", "$(rm)", "a b"})
	if want := `remora bench cache --path rfp,redis --cache 10% '' 'it'\''s' '$(rm)' 'a b'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A spreadsheet must not compute what a server calls itself.
func TestCSVHasNoFormulas(t *testing.T) {
	s := &sheet{head: []string{"case"}}
	s.add("=HYPERLINK(1)")
	s.add(-1.5)
	if got := s.String(); got != "case\n'=HYPERLINK(1)\n-1.5\n" {
		t.Errorf("%q", got)
	}
}
