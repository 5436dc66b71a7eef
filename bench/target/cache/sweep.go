package cache

import (
	"context"
	"fmt"
	"strconv"

	"github.com/remora-kv/remora/bench"
)

// SweepPoint is a configuration, and the values that it has on the axes of a sweep.
type SweepPoint struct {
	Values []string
	Config Config
}

// Sweep says what is measured along which axes. The first is the horizontal one.
type Sweep struct {
	Axes   []string
	Points []SweepPoint
}

// Swept is the outcome of a sweep.
type Swept struct {
	*Report
	axes   []string
	points []sweptPoint
}

// sweptPoint is one line of the outcome.
type sweptPoint struct {
	Summary
	values []string
	knee   bool
}

// RunSweep measures all points in rounds (RunRounds).
func RunSweep(ctx context.Context, s Sweep, env Env) (*Swept, error) {
	out := &Swept{Report: &Report{}, axes: s.Axes}
	var cfgs []Config
	for i := range s.Points {
		p := &s.Points[i]
		if err := p.check(); err != nil {
			return out, err
		}
		cfgs = append(cfgs, p.Config)
	}
	_, of, err := planRounds(cfgs, env.Providers)
	if err != nil {
		return out, err
	}
	out.Report, err = RunRounds(ctx, cfgs, env)
	for _, sum := range out.Summaries() {
		out.points = append(out.points, sweptPoint{Summary: sum, values: s.Points[of[sum.Median.index]].Values})
	}
	out.findKnees()
	return out, err
}

// check refuses points of several rows that the axes do not tell apart.
func (p *SweepPoint) check() error {
	c := p.Config
	if err := c.normalize(); err != nil {
		return err
	}
	seen := map[[3]string]bool{}
	for _, k := range c.plan() {
		target := [3]string{k.Path, k.Fabric, k.Engine}
		if seen[target] {
			return bench.UsageError(fmt.Errorf("%s has several rows at one point: only --path, --fabric and --engine take lists, other axes belong to --over", k.Title()))
		}
		seen[target] = true
	}
	return nil
}

// series names what a point belongs to: all but its place on the first axis.
func (s *Swept) series(p *sweptPoint) string {
	name := p.Median.Path + " " + p.Median.Fabric
	if e := p.Median.Engine; e != p.Median.Path {
		name += " " + e
	}
	for i, v := range p.values[1:] {
		switch axis := s.axes[i+1]; axis {
		case "path", "fabric", "engine":
		default:
			name += " " + axis + " " + v
		}
	}
	return name
}

// bySeries groups points, in order.
func (s *Swept) bySeries() (names []string, points map[string][]*sweptPoint) {
	points = map[string][]*sweptPoint{}
	for i := range s.points {
		p := &s.points[i]
		name := s.series(p)
		if points[name] == nil {
			names = append(names, name)
		}
		points[name] = append(points[name], p)
	}
	return names, points
}

// findKnees marks the point of each series from which on more brings little: of rates offered
// (an open loop) the last before p99 rises.
func (s *Swept) findKnees() {
	names, points := s.bySeries()
	for _, name := range names {
		var xs, ys []float64
		for _, p := range points[name] {
			x, err := strconv.ParseFloat(p.values[0], 64)
			if err != nil {
				break // an axis of names has no knee
			}
			y := p.Median.OpsPerSec
			if s.axes[0] == "rate" {
				y = p.Median.P99
			}
			xs, ys = append(xs, x), append(ys, y)
		}
		if len(xs) != len(points[name]) {
			continue
		}
		if i := bench.Knee(xs, ys, s.axes[0] == "rate"); i >= 0 {
			points[name][i].knee = true
		}
	}
}
