package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // programs and styles of the page
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/page.js
	pageJS string
	//go:embed assets/charts.js
	chartsJS string
	//go:embed assets/uplot/uPlot.iife.min.js
	uplotJS string
	//go:embed assets/uplot/uPlot.min.css
	uplotCSS string
	//go:embed assets/uplot/LICENSE
	uplotLicence string
)

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// page is what the template needs. What is of a type of package template is ours or was
// made safe here; everything else is escaped (W2).
type page struct {
	Policy                 string
	Title                  string
	When                   string
	Counts                 string
	Failure                string
	Warnings, Notes        []string
	Machine                []bench.Fact
	Verdict                string
	Shared                 []string
	Command                string
	Cards                  []card
	Facets                 []facet
	Pictures               []pagePicture
	Figures                []pageFigure
	Table                  table
	RowsCSV                template.URL
	Data                   template.JS
	Style                  template.CSS
	UPlot, Charts, Program template.JS
	Licence                string
	Intervals              string // what they are; empty: there are none
}

// card is a number at the top.
type card struct{ Name, Value, Unit, Of string }

// pageFigure is a figure with its table and file.
type pageFigure struct {
	*figure
	Head []string
	Rows [][]string
	CSV  template.URL
	SVG  string
	PNG  string
}

// pagePicture is a picture within the page.
type pagePicture struct {
	*Picture
	Source template.URL
}

func (p *Picture) page() (pagePicture, error) {
	var svg bytes.Buffer
	err := p.Figure.WriteSVG(&svg)
	return pagePicture{p, "data:image/svg+xml;base64," + template.URL(base64.StdEncoding.EncodeToString(svg.Bytes()))}, err
}

func (r *Report[R]) page(s *results, d *data, figures []*figure, pictures []Picture) (*page, error) {
	js, err := json.Marshal(d) // escapes what could end its element
	if err != nil {
		return nil, err
	}
	var rows strings.Builder
	if err := rowsCSV(&rows, r.Rows); err != nil {
		return nil, err
	}
	style := uplotCSS + "\n" + paletteCSS() + pageCSS
	p := &page{
		Policy: policy([]string{uplotJS, chartsJS, pageJS}, style),
		Title:  r.Title, When: r.When.UTC().Format("2 January 2006, 15:04 UTC"), Failure: r.Failure,
		Counts:  counts(s, len(r.Rows)),
		Verdict: r.Verdict(), Warnings: r.Warnings, Notes: r.Notes, Machine: r.Machine, Shared: s.shared, Command: CommandLine(r.Command),
		Cards: s.cards(), Table: s.table(), RowsCSV: link(rows.String()),
		Data: template.JS(js), Style: template.CSS(style), Licence: uplotLicence,
		UPlot: template.JS(uplotJS), Charts: template.JS(chartsJS), Program: template.JS(pageJS),
	}
	trials := 0
	for _, m := range s.cases {
		trials = max(trials, m.ops.N)
	}
	p.Intervals = bench.IntervalNote(trials)
	if r.Version != "" {
		p.Machine = append([]bench.Fact{{Name: "remora", Value: r.Version}}, p.Machine...)
	}
	if p.Title == "" {
		p.Title = "remora bench"
	}
	for _, f := range s.facets {
		if len(f.Values) > 1 {
			p.Facets = append(p.Facets, f)
		}
	}
	for i := range pictures {
		picture, err := pictures[i].page()
		if err != nil {
			return nil, err
		}
		p.Pictures = append(p.Pictures, picture)
	}
	for _, f := range figures {
		p.Figures = append(p.Figures, pageFigure{
			figure: f, Head: f.table.head, Rows: f.table.rows, CSV: link(f.data.String()), SVG: "fig-" + f.ID + ".svg", PNG: "fig-" + f.ID + ".png",
		})
	}
	return p, nil
}

func (p *page) write(w io.Writer) error { return pageTemplate.Execute(w, p) }

// policy is the content security policy (W1).
func policy(scripts []string, style string) string {
	var hashes []string
	for _, s := range scripts {
		hashes = append(hashes, hash(s))
	}
	return "default-src 'none'; script-src " + strings.Join(hashes, " ") + "; style-src " + hash(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// link is a file within the page.
func link(csv string) template.URL {
	return template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(csv)))
}

// counts says how much there is.
func counts(s *results, trials int) string {
	return several(len(s.cases), "case") + ", " + several(trials, "trial")
}

func several(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// cards are the best of all cases.
func (s *results) cards() []card {
	fast, short, tail := s.cases[0], s.cases[0], s.cases[0]
	for _, m := range s.cases {
		if m.ops.Median > fast.ops.Median {
			fast = m
		}
		if !m.median.ranked() {
			continue
		}
		if !short.median.ranked() || m.median.P50 < short.median.P50 {
			short = m
		}
		if !tail.median.ranked() || m.median.P99 < tail.median.P99 {
			tail = m
		}
	}
	value := func(name, s, of string) card {
		number, unit, _ := strings.Cut(s, " ")
		return card{name, number, unit, of}
	}
	top := value("Highest throughput", out.SI(fast.ops.Median), fast.label)
	top.Unit += " ops/s"
	if !short.median.ranked() {
		return []card{top}
	}
	return []card{
		top,
		value("Lowest median latency", micro(short.median.P50), short.label),
		value("Lowest 99th percentile", micro(tail.median.P99), tail.label),
	}
}
