package out

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// elements counts the elements of a picture, which must be well-formed, and
// collects its texts.
func elements(t *testing.T, draw func(io.Writer) error) (count map[string]int, texts []string) {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "%!") {
		t.Errorf("numbers that are none:\n%s", s)
	}
	count = map[string]int{}
	for d := xml.NewDecoder(&b); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			count[e.Name.Local]++
		case xml.CharData:
			if s := strings.TrimSpace(string(e)); s != "" {
				texts = append(texts, s)
			}
		}
	}
}

func TestLinesDrawEveryPoint(t *testing.T) {
	l := Lines{
		Title: "in <Mops> & more", XLabel: "bytes", YLabel: "op/s", Ticks: []float64{8, 16, 32}, LogX: true,
		Series: []Line{
			{"READ", []Point{{8, 1e6}, {16, 3e6}, {32, 2e6}}},
			{"none", nil},
		},
	}
	count, texts := elements(t, l.WriteSVG)
	if count["circle"] != 4 { // three points and the legend
		t.Errorf("%d marks, want 4", count["circle"])
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"in <Mops> & more", "bytes", "op/s", "READ", "none (not measured)", "32", "3 M"} {
		if !strings.Contains(all, want) {
			t.Errorf("no text %q in\n%s", want, all)
		}
	}
}

func TestBarsLeaveOutWhatWasNotMeasured(t *testing.T) {
	v := 2.5
	b := Bars{
		Title: "echo", YLabel: "op/s", Groups: []string{"SS", "WW"},
		Series: []Row{{"basic", []*float64{&v, nil}}, {"inline", []*float64{&v, &v}}, {"never", []*float64{nil, nil}}},
	}
	count, texts := elements(t, b.WriteSVG)
	if count["rect"] != 1+3+3 { // the page, three bars, three signs of the legend
		t.Errorf("%d boxes, want 7", count["rect"])
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "never (not measured)") || !strings.Contains(all, "WW") {
		t.Errorf("texts:\n%s", all)
	}
}

// A figure of which nothing was measured is still a figure.
func TestNothingIsDrawn(t *testing.T) {
	elements(t, (&Lines{Title: "a", Ticks: []float64{1}}).WriteSVG)
	elements(t, (&Lines{Title: "a"}).WriteSVG)
	elements(t, (&Bars{Title: "a"}).WriteSVG)
}

func TestScales(t *testing.T) {
	for largest, want := range map[float64]yScale{
		0: {1, 1}, 1: {1.2, 0.2}, 7: {8, 2}, 99e6: {100e6, 20e6}, 0.13: {0.15, 0.05}, math.Inf(1): {1, 1},
	} {
		got := newYScale(largest)
		if math.Abs(got.top-want.top) > 1e-9*want.top || math.Abs(got.step-want.step) > 1e-9*want.step {
			t.Errorf("scale up to %v is %+v, want %+v", largest, got, want)
		}
	}
	for y, want := range map[float64]string{0: "0", 0.05: "0.05", 250: "250", 2500: "2.5 k", 20e6: "20 M", 3e9: "3 G"} {
		if got := number(y); got != want {
			t.Errorf("number(%v) = %q, want %q", y, got, want)
		}
	}
	xs := newXScale([]float64{8, 64, 512}, true)
	if a, b, c := xs.at(8), xs.at(64), xs.at(512); math.Abs((b-a)-(c-b)) > 1e-9 || a <= left || c >= right {
		t.Errorf("8, 64 and 512 are at %v, %v and %v", a, b, c)
	}
}
