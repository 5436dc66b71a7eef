package out

import (
	"bytes"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCurvesChooseTheirAxes(t *testing.T) {
	f := Curves{
		Title: "CDF", XLabel: "us", YLabel: "share", LogX: true,
		Series: []Line{
			{"a", []Point{{0.9, 0}, {3, 0.5}, {40, 1}}},
			{"b", []Point{{0, 0}, {math.NaN(), 1}, {math.Inf(1), 1}}}, // none has a place
		},
	}
	_, texts := elements(t, f.WriteSVG)
	all := strings.Join(texts, "\n")
	for _, want := range []string{"0.5", "50", "20", "1", "b (not measured)"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in\n%s", want, all)
		}
	}
	f.LogX, f.Marks = false, true
	if count, _ := elements(t, f.WriteSVG); count["circle"] != 4 {
		t.Errorf("%d marks, want those of three points and of the legend", count["circle"])
	}
	elements(t, (&Curves{LogX: true, LogY: true}).WriteSVG)
	elements(t, (&Curves{LogX: true, Series: []Line{{"one", []Point{{5, 5}}}}}).WriteSVG)
}

func TestListHasErrorBarsAndGrows(t *testing.T) {
	l := List{Title: "rates", XLabel: "op/s", Bars: []ListBar{
		{"rfp", 1e6, 0.9e6, 1.1e6, 0}, {strings.Repeat("long ", 20), 12345.678, 12345.678, 12345.678, 1},
	}}
	count, texts := elements(t, l.WriteSVG)
	if count["rect"] != 3 || !slices.Contains(texts, "12.3 k") || !slices.Contains(texts, "1 M") {
		t.Errorf("%v, %q", count, texts)
	}
	lines := count["line"]
	l.Bars[0].Low, l.Bars[0].High = 1e6, 1e6
	if count, _ := elements(t, l.WriteSVG); count["line"] >= lines {
		t.Errorf("%d lines without an error bar, and %d with one", count["line"], lines)
	}
	for range 100 {
		l.Bars = append(l.Bars, l.Bars[0])
	}
	if h := l.draw().height(); h < 100*listLine {
		t.Errorf("102 bars are %v points high", h)
	}
	elements(t, (&List{}).WriteSVG)
}

// Names come from servers: they must not break the picture.
func TestNamesFromOutside(t *testing.T) {
	bad := "</text><script>x</script>\x00\x1b[31m\xff&\"'￿"
	f := Curves{Title: bad, XLabel: bad, YLabel: bad, Series: []Line{{bad, []Point{{1, 1}}}}}
	count, texts := elements(t, f.WriteSVG)
	if count["script"] != 0 || !strings.Contains(strings.Join(texts, ""), "<script>x</script>[31m&") {
		t.Errorf("%v, %q", count, texts)
	}
	elements(t, (&List{Bars: []ListBar{{Name: bad}}}).WriteSVG)
}

// Every form of figure has its colours and black text in pixels too.
func TestPixels(t *testing.T) {
	v := 2.0
	for name, write := range map[string]func(io.Writer) error{
		"curves": (&Curves{Title: "t", YLabel: "up", Marks: true, Series: []Line{{"a", []Point{{1, 1}, {2, 3}}}}}).WritePNG,
		"lines":  (&Lines{Title: "t", YLabel: "up", Ticks: []float64{1, 2}, Series: []Line{{"a", []Point{{1, 1}, {2, 3}}}}}).WritePNG,
		"bars":   (&Bars{Title: "t", YLabel: "up", Groups: []string{"g"}, Series: []Row{{"a", []*float64{&v}}}}).WritePNG,
		"list":   (&List{Title: "t", Bars: []ListBar{{"a", 2, 1, 3, 0}}}).WritePNG,
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(name, err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(name, err)
		}
		if img.Bounds().Dx() != width*dots {
			t.Errorf("%s: %v", name, img.Bounds())
		}
		series, ink := 0, 0
		want := rgb(color(0))
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				switch {
				case uint8(r>>8) == want.R && uint8(g>>8) == want.G && uint8(b>>8) == want.B:
					series++
				case r+g+b == 0:
					ink++
				}
			}
		}
		if series < 100 || ink < 100 {
			t.Errorf("%s: %d pixels of the series, %d of text and axes", name, series, ink)
		}
	}
}
