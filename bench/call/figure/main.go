// Command figure draws a column of a CSV file against another one, a line for
// each value of a third:
//
//	figure -x batch -y ops_per_sec -by path -title Throughput -out rate.svg curve.csv
//
// The ending of -out chooses the format: svg, png or pdf. It is a module of its
// own, so that who uses the library does not get a plotting library with it.
package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// figure is what the flags say.
type figure struct {
	x, y, by, title, xLabel, yLabel, out string
	logX, logY                           bool
}

func main() {
	var f figure
	flag.StringVar(&f.x, "x", "", "column of the horizontal axis")
	flag.StringVar(&f.y, "y", "", "column of the vertical axis")
	flag.StringVar(&f.by, "by", "", "column whose values are the lines")
	flag.StringVar(&f.title, "title", "", "title")
	flag.StringVar(&f.xLabel, "xlabel", "", "name of the horizontal axis (default: the column)")
	flag.StringVar(&f.yLabel, "ylabel", "", "name of the vertical axis (default: the column)")
	flag.BoolVar(&f.logX, "logx", false, "logarithmic horizontal axis")
	flag.BoolVar(&f.logY, "logy", false, "logarithmic vertical axis")
	flag.StringVar(&f.out, "out", "", "file to write")
	flag.Parse()
	if flag.NArg() != 1 || f.x == "" || f.y == "" || f.by == "" || f.out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := f.draw(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "figure:", err)
		os.Exit(1)
	}
}

// draw reads the file and writes the figure.
func (f *figure) draw(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	lines, err := f.read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p, err := f.plot(lines)
	if err != nil {
		return err
	}
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, f.out)
}

// line is one value of the column by.
type line struct {
	name   string
	points plotter.XYs
}

// read takes the three columns.
func (f *figure) read(r io.Reader) ([]line, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) < 2 {
		return nil, errors.New("no rows")
	}
	var at [3]int
	for i, name := range []string{f.x, f.y, f.by} {
		if at[i] = slices.Index(rows[0], name); at[i] < 0 {
			return nil, fmt.Errorf("no column %q in %v", name, rows[0])
		}
	}
	var lines []line
	for _, row := range rows[1:] {
		x, err1 := strconv.ParseFloat(row[at[0]], 64)
		y, err2 := strconv.ParseFloat(row[at[1]], 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		name := row[at[2]]
		i := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if i < 0 {
			i, lines = len(lines), append(lines, line{name: name})
		}
		lines[i].points = append(lines[i].points, plotter.XY{X: x, Y: y})
	}
	return lines, nil
}

// plot makes the figure.
func (f *figure) plot(lines []line) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, or(f.xLabel, f.x), or(f.yLabel, f.y)
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	if f.logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, exact(lines)
	}
	if f.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	} else {
		p.Y.Min = 0
	}
	for i, l := range lines {
		line, points, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		line.Color, line.Width = plotutil.Color(i), vg.Points(1.5)
		points.Color, points.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, points)
		p.Legend.Add(l.name, line, points)
	}
	if f.logX {
		p.X.Max *= 1.1 // room for the last label
	}
	return p, nil
}

// decades marks powers of ten, with a prefix in place of zeros.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{Prec: -1}.Ticks(low, high)
	for i, t := range ticks {
		switch {
		case t.Label == "":
		case t.Value >= 1e6:
			ticks[i].Label = strconv.FormatFloat(t.Value/1e6, 'g', -1, 64) + " M"
		case t.Value >= 1e3:
			ticks[i].Label = strconv.FormatFloat(t.Value/1e3, 'g', -1, 64) + " k"
		}
	}
	return ticks
}

// exact marks the points themselves.
func exact(lines []line) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, pt := range lines[0].points {
		ticks = append(ticks, plot.Tick{Value: pt.X, Label: strconv.FormatFloat(pt.X, 'g', -1, 64)})
	}
	return ticks
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
