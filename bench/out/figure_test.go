package out

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var keep = flag.String("keep", "", "directory for the figures of the tests, to look at")

// texts returns the texts of a picture, which must be well-formed, and how often each element
// is there.
func texts(t *testing.T, f *Figure) (all []string, count map[string]int) {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		picture(t, f)
	}
	if s := b.String(); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || strings.Contains(s, "%!") {
		t.Errorf("numbers that are none:\n%s", s)
	}
	count = map[string]int{}
	for d := xml.NewDecoder(&b); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, count
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			count[e.Name.Local]++
		case xml.CharData:
			if s := strings.TrimSpace(string(e)); s != "" {
				all = append(all, s)
			}
		}
	}
}

// draw keeps a figure in both forms.
func picture(t *testing.T, f *Figure) {
	t.Helper()
	name := filepath.Join(*keep, strings.ReplaceAll(t.Name(), "/", "-")+fmt.Sprintf("-%d", len(f.Series)))
	for ending, write := range map[string]func(io.Writer) error{".svg": f.WriteSVG, ".png": f.WritePNG} {
		if err := WriteFile(name+ending, write); err != nil {
			t.Fatal(err)
		}
	}
}

func lines() *Figure {
	f := &Figure{
		Title: "HERD Figure 10 on <shm> & more",
		X:     Axis{Label: "value bytes", Log: true, Ticks: []float64{4, 8, 16, 32, 64, 128, 256, 512, 1000}},
		Y:     Axis{Label: "operations per second", Unit: PerSecond},
	}
	for i := range 13 {
		s := Series{Name: fmt.Sprintf("path %d", i)}
		for k, x := range f.X.Ticks {
			y := 1e5 * float64(30-2*i) / (1 + float64(k*k)/100)
			s.Points = append(s.Points, Point{X: x, Y: y, Low: y * 0.97, High: y * 1.03})
		}
		f.Series = append(f.Series, s)
	}
	f.Series = append(f.Series, Series{Name: "path 1", Paper: true, Points: []Point{{X: 32, Y: 3.5e6}}}, Series{Name: "never"})
	return f
}

func TestLines(t *testing.T) {
	all, _ := texts(t, lines())
	for _, want := range []string{
		"HERD Figure 10 on <shm> & more", "value bytes", "operations per second", "path 12", "path 1 (paper)", "never (not measured)", "32", "1000", "1 M/s",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no text %q in %q", want, all)
		}
	}
}

func bars() *Figure {
	f := &Figure{
		Title: "ECHO rate, 32 bytes", Bars: true, X: Axis{Label: "request / reply", Names: []string{"SEND/SEND", "WRITE/WRITE", "WRITE/SEND"}},
		Y: Axis{Label: "operations per second", Unit: PerSecond},
	}
	for i, name := range []string{"basic", "+ unreliable", "+ unsignaled", "+ inline"} {
		s := Series{Name: name}
		for x := range 3 {
			y := 1e6 * float64(1+i+x)
			s.Points = append(s.Points, Point{X: float64(x), Y: y, Low: y * 0.9, High: y * 1.1})
		}
		f.Series = append(f.Series, s)
	}
	f.Series[0].Points = f.Series[0].Points[:2]
	f.Series = append(f.Series, Series{Name: "+ inline", Paper: true, Points: []Point{{X: 0, Y: 5e6}, {X: 1, Y: 4e6}}})
	return f
}

// What was not measured is not drawn, and has its place.
func TestBars(t *testing.T) {
	f := bars()
	slots, order := f.slots()
	if slots != 4 || !slices.Equal(order, []int{0, 1, 2, 3, 3}) {
		t.Errorf("%d bars side by side, the styles %v", slots, order)
	}
	all, _ := texts(t, f)
	if !slices.Contains(all, "WRITE/SEND") || !slices.Contains(all, "+ inline (paper)") {
		t.Errorf("%q", all)
	}
}

// Bars on a logarithmic axis begin where it does, and the shortest is one.
func TestLogarithmicBars(t *testing.T) {
	f := bars()
	f.Y.Log = true
	f.Series[0].Points[0] = Point{X: 0, Y: 1e3}
	all, _ := texts(t, f)
	if !slices.Contains(all, "1 M/s") || !(f.ys.low > 0 && f.ys.low < 1e3) {
		t.Errorf("the axis begins at %v: %q", f.ys.low, all)
	}
}

func flat(n int) *Figure {
	f := &Figure{Title: "Throughput", Bars: true, Flat: true, Y: Axis{Label: "operations per second", Unit: PerSecond}}
	for i := range n {
		f.X.Names = append(f.X.Names, fmt.Sprintf("memcached · tcp · value %d B · clients 16 · window 4", 32<<i))
		y := 1.2345678e6 / float64(1+i)
		if i < 2 {
			f.Series = append(f.Series, Series{Name: fmt.Sprint("target ", i)})
		}
		s := &f.Series[i%2]
		s.Points = append(s.Points, Point{X: float64(i), Y: y, Low: y * 0.95, High: y * 1.05})
	}
	return f
}

// Bars that lie have whole names: their ends tell them apart.
func TestFlatBars(t *testing.T) {
	f := flat(6)
	all, _ := texts(t, f)
	if !slices.Contains(all, f.X.Names[5]) || !slices.Contains(all, "1.23 M/s") {
		t.Errorf("%q", all)
	}
	if small, large := f.layout().height, flat(60).layout().height; large < small+54*flatLine {
		t.Errorf("60 bars are %v high, and 6 %v", large, small)
	}
}

func TestErrorBars(t *testing.T) {
	f := bars()
	f.Y.Ticks = []float64{0, 8e6}
	_, with := texts(t, f)
	for i := range f.Series {
		for k := range f.Series[i].Points {
			f.Series[i].Points[k].Low = f.Series[i].Points[k].High
		}
	}
	_, without := texts(t, f)
	if with["path"] != without["path"]+3*11 { // a line and two caps for each
		t.Errorf("%d paths with error bars, %d without", with["path"], without["path"])
	}
}

func TestLogarithms(t *testing.T) {
	f := &Figure{
		Title: "CDF", Plain: true, X: Axis{Label: "latency", Unit: Micro, Log: true}, Y: Axis{Label: "share", Unit: Share},
		Series: []Series{
			{Name: "a", Points: []Point{{X: 0.9}, {X: 3, Y: 0.5}, {X: 4e4, Y: 1}}},
			{Name: "b", Points: []Point{{X: 0}, {X: math.NaN(), Y: 1}, {X: math.Inf(1), Y: 1}}}, // none has a place
		},
	}
	all, _ := texts(t, f)
	for _, want := range []string{"b (not measured)", "1 µs", "10 ms", "50 %", "100 %"} {
		if !slices.Contains(all, want) {
			t.Errorf("no text %q in %q", want, all)
		}
	}
	for low, high := range map[float64]float64{3: 3, 0: 0, 0.02: 700, 1e6: 1e6} {
		if from, to := decades(low, high); !(from > 0 && from < to && (low == 0 || from <= low*1.001 && to >= high)) {
			t.Errorf("%v to %v has the axis %v to %v", low, high, from, to)
		}
	}
}

// A figure of which nothing was measured is still a figure.
func TestNothingIsDrawn(t *testing.T) {
	for _, f := range []Figure{
		{},
		{Title: "a", X: Axis{Ticks: []float64{1}}},
		{Bars: true},
		{Bars: true, Flat: true},
		{X: Axis{Log: true}, Y: Axis{Log: true}},
		{X: Axis{Log: true, Ticks: []float64{1, 8}}},
		{X: Axis{Log: true}, Series: []Series{{Name: "one", Points: []Point{{X: 5, Y: 5}}}}},
	} {
		texts(t, &f)
	}
}

// No two series look alike, in black and white not either.
func TestStyles(t *testing.T) {
	seen := map[string]bool{}
	grey := map[string]bool{}
	for i := range 56 {
		s := styleOf(i)
		look := fmt.Sprintf("%v %T", s.dashes, s.marker)
		if full := fmt.Sprintf("%v %s", s.color, look); seen[full] || grey[look] {
			t.Errorf("series %d looks like another: %s", i, full)
		} else {
			seen[full], grey[look] = true, true
		}
	}
	colors := map[any]bool{}
	for i := range 30 {
		colors[styleOf(i).color] = true
	}
	if len(colors) != 30 {
		t.Errorf("30 series have %d colours", len(colors))
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		unit       Unit
		x          float64
		tick, text string
	}{
		{Count, 0, "0", "0.00"},
		{Count, 0.05, "0.05", "0.05"},
		{Count, 2500, "2.5 k", "2.50 k"},
		{Count, 20e6, "20 M", "20.0 M"},
		{PerSecond, 1.2e6, "1.2 M/s", "1.20 M/s"},
		{PerSecond, 500, "500/s", "500/s"},
		{Micro, 10e3, "10 ms", "10.0 ms"},
		{Micro, 0.25, "250 ns", "250 ns"},
		{Second, 0.5, "500 ms", "500 ms"},
		{Share, 0.99, "99 %", "99.0 %"},
		{Size, 2048, "2 KiB", "2.00 KiB"},
		{nil, 7, "7", "7.00"},
	} {
		if tick, text := c.unit.Tick(c.x), c.unit.Text(c.x); tick != c.tick || text != c.text {
			t.Errorf("%v is %q on an axis and %q in a table, want %q and %q", c.x, tick, text, c.tick, c.text)
		}
	}
}

// Names come from servers: they must not break the picture.
func TestNamesFromOutside(t *testing.T) {
	bad := "</text><script>x</script>\x00\x1b[31m\xff&\"'￿"
	f := Figure{Title: bad, X: Axis{Label: bad, Names: []string{bad}}, Y: Axis{Label: bad}, Series: []Series{{Name: bad, Points: []Point{{Y: 1}}}}}
	all, count := texts(t, &f)
	if count["script"] != 0 || !strings.Contains(strings.Join(all, ""), "<script>x</script>[31m&") {
		t.Errorf("%v, %q", count, all)
	}
}

// Every form of figure has its colours and black text in pixels too, as many as printers want.
func TestPixels(t *testing.T) {
	for name, f := range map[string]*Figure{"lines": lines(), "bars": bars(), "flat": flat(6)} {
		var b bytes.Buffer
		if err := f.WritePNG(&b); err != nil {
			t.Fatal(name, err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(name, err)
		}
		if l := f.layout(); math.Abs(float64(img.Bounds().Dx())-l.width.Dots(dpi)) > 1 {
			t.Errorf("%s: %v of %v", name, img.Bounds(), l.width)
		}
		series, ink := 0, 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				r, g, b, _ := img.At(x, y).RGBA()
				switch c := palette[0]; {
				case uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B:
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
