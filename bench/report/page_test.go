//go:build !race

// What the page does in a browser has nothing to do with threads of ours, and takes minutes
// with the race detector.

package report

import (
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
)

var allFigures = []string{"fig-throughput", "fig-latency", "fig-cdf", "fig-timeline"}

// The page is drawn by a browser: every chart has its series in their colours, nothing
// is asked for, nothing goes wrong; for one row as for many.
func TestPageInABrowser(t *testing.T) {
	b := openBrowser(t)
	many := sampleReport()
	many.Rows = manyRows(200)
	one := sampleReport()
	one.Rows, one.Warnings = one.Rows[:1], nil
	bare := sampleReport()
	bare.Rows = []cache.Row{{Path: "rfp", Measure: bench.Measure{OpsPerSec: 10, P50: 1, P99: 2}}}
	for _, tc := range []struct {
		name                   string
		report                 *Report[cache.Row]
		cases, targets, colors int
		figures                []string
		width, height          int
		dark                   bool
	}{
		{"compare", sampleReport(), 9, 3, 3, allFigures, 1400, 2300, false},
		{"compare-dark", sampleReport(), 9, 3, 3, allFigures, 1400, 2300, true},
		{"compare-phone", sampleReport(), 9, 3, 3, allFigures, 390, 3600, false},
		{"one", one, 1, 1, 1, allFigures, 1400, 1900, false},
		{"many", many, 200, 6, 6, allFigures, 1400, 2300, false},
		{"bare", bare, 1, 1, 1, allFigures[:2], 1400, 1200, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.t = t
			dir := write(t, tc.report)
			b.open(dir, tc.width, tc.height, tc.dark)
			b.screenshot(tc.name)
			got := b.figures()
			if len(got) != len(tc.figures) {
				t.Errorf("%d figures, want %v", len(got), tc.figures)
			}
			for _, id := range tc.figures {
				f, want := got[id], tc.cases
				if id == "fig-latency" {
					want = tc.targets
				}
				if f.Series != want || f.Ink < 1000 || f.Colors < tc.colors {
					t.Errorf("%s: %+v, want %d series in %d colours", id, f, want, tc.colors)
				}
				if f.Width > tc.width {
					t.Errorf("%s is %d wide on a screen of %d", id, f.Width, tc.width)
				}
			}
			var rows, wide int
			b.eval(`document.querySelectorAll("tr[data-case]").length`, &rows)
			b.eval(`document.documentElement.scrollWidth`, &wide)
			if rows != tc.cases || wide > tc.width {
				t.Errorf("%d rows in the table, want %d; the page is %d wide, and the screen %d", rows, tc.cases, wide, tc.width)
			}
			b.isQuiet(dir)
		})
		b.t = t
	}
}

// What the reader can do: leave cases out, choose what is shown, sort, change the light.
func TestPageAnswers(t *testing.T) {
	b := openBrowser(t)
	dir := write(t, sampleReport())
	b.open(dir, 1200, 1000, false)
	var n int
	b.eval(`document.querySelector('.chip[data-facet=path][data-value="1"]').click(), document.querySelectorAll("tr[data-case]:not([hidden])").length`, &n)
	if got := b.figures(); n != 6 || got["fig-cdf"].Series != 6 || got["fig-throughput"].Series != 6 || got["fig-cdf"].Colors != 2 {
		t.Errorf("without memcached there are %d rows and %+v", n, got)
	}
	b.eval(`document.querySelectorAll('.chip[data-facet=path][aria-pressed=true]').forEach(c => c.click()), 0`, &n)
	if got := b.figures(); got["fig-cdf"].Series != 0 || got["fig-cdf"].Ink != 0 {
		t.Errorf("without any case there is %+v", got)
	}
	b.eval(`document.querySelectorAll('.chip[data-facet=path]').forEach(c => c.click()), 0`, &n)
	for _, mode := range []string{"p50", "p95", "p99", "p999", "mean", "tail", "relative"} {
		before := b.canvas()
		b.eval(`document.querySelector('[data-mode=`+mode+`]').click(), 0`, &n)
		if pressed := mode == "p50"; !pressed && b.canvas() == before {
			t.Errorf("%s changes nothing", mode)
		}
	}
	if got := b.figures(); got["fig-cdf"].Series != 9 || got["fig-cdf"].Colors != 3 || got["fig-timeline"].Series != 9 {
		t.Errorf("in the end there is %+v", got)
	}
	var first string
	sort := `[...document.querySelectorAll(".sortable thead button")].find(b => b.textContent === "p99").click(), document.querySelector(".sortable tbody tr").textContent.trim()`
	b.eval(sort, &first)
	if want := "redis16"; len(first) < len(want) || first[:len(want)] != want {
		t.Errorf("the highest p99 is that of %q", first)
	}
	b.eval(sort, &first)
	if want := "rfp1"; len(first) < len(want) || first[:len(want)] != want {
		t.Errorf("the lowest p99 is that of %q", first)
	}
	before := b.canvas()
	b.eval(`document.getElementById("theme").click(), 0`, &n)
	if b.canvas() == before {
		t.Error("the charts do not change with the light")
	}
	b.isQuiet(dir)
}

// canvas is all that is drawn, as text.
func (b *browser) canvas() (all string) {
	b.t.Helper()
	b.eval(`[...document.querySelectorAll("canvas")].map(c => c.toDataURL()).join()`, &all)
	return all
}

// W2: what comes from outside stays text.
func TestPageOfAHostileServer(t *testing.T) {
	b := openBrowser(t)
	r := sampleReport()
	r.Title, r.Failure, r.Version = "safe", hostile, hostile
	r.Command = append(r.Command, hostile)
	r.Notes, r.Warnings, r.Machine = []string{hostile}, []string{hostile}, []bench.Fact{{Name: hostile, Value: hostile}}
	for i := range r.Rows {
		if r.Rows[i].Path == "redis" {
			r.Rows[i].Path, r.Rows[i].Fabric, r.Rows[i].Engine, r.Rows[i].ServerVersion = hostile, hostile, hostile, hostile
		}
	}
	dir := write(t, r)
	b.open(dir, 1200, 1000, false)
	var title, label string
	var n int
	b.eval(`document.title`, &title)
	b.eval(`document.querySelectorAll(":not(.picture) > img, iframe, object, body [onerror], script:not([type]) ~ img").length`, &n)
	b.eval(`JSON.parse(document.getElementById("data").textContent).cases[6].label.split(" · ")[0]`, &label)
	if title != "safe" || n != 0 || label != hostile {
		t.Errorf("the title is %q, there are %d elements that nobody wrote, and the label is %q", title, n, label)
	}
	if got := b.figures(); got["fig-cdf"].Series != 9 || got["fig-cdf"].Colors != 3 {
		t.Errorf("%+v", got)
	}
	// The tip shows names too.
	b.eval(`(() => {
		const over = document.querySelector("#fig-cdf .u-over"), r = over.getBoundingClientRect();
		over.dispatchEvent(new MouseEvent("mousemove", {clientX: r.left + r.width / 2, clientY: r.top + r.height / 2}));
		return document.getElementById("tip").textContent.includes("onerror") ? document.querySelectorAll(":not(.picture) > img").length : -1;
	})()`, &n)
	if n != 0 {
		t.Errorf("the tip does not show the name as text: %d", n)
	}
	b.isQuiet(dir)
}
