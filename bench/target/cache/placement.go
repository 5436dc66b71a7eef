package cache

import (
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric/provider"
)

// checkPlacements refuses placements that cannot be, and writes the others as rows have them.
func (c *Config) checkPlacements(errs *bench.Faults) {
	oneProcess := slices.Contains(c.Fabrics, provider.Loop) && slices.ContainsFunc(c.Paths, isOurs)
	c.Placements = errs.Placements(c.Placements, c.Server == "", !oneProcess)
}

// sharing is what the CPUs of a case are shared with.
func (k *Case) sharing() host.Sharing { return bench.Sharing(k.Placement) }

// place decides about CPUs.
func (r *runner) place(c *Case) host.Placement {
	if len(r.cfg.Agents) != 0 {
		return host.Apart(r.CPUs, 1) // the keys are stored from here
	}
	if r.cfg.Server != "" || c.Path == PathNull {
		return host.Apart(r.CPUs, c.threads())
	}
	p := c.sharing().Place(r.CPUs, c.threads(), c.Cores)
	if !p.Sharing.Own() && len(p.Client) != 0 {
		p.Client = p.Client[:clientThreads(c, p)] // the others are not used, and need no neighbour
	}
	return p
}

// loaderCPUs are those from which the keys are stored: a placement begins after that, so that
// it does not make storing them slow.
func (t *trial) loaderCPUs() []int {
	if t.place.Sharing.Own() {
		return t.place.Client
	}
	return host.Split(t.CPUs, 1, t.c.Cores).Client
}

// placementNotes says where client and server were in each placement.
func (r *runner) placementNotes() {
	var seen []string
	for i := range r.report.cases {
		k := &r.report.cases[i]
		if slices.Contains(seen, k.Placement) {
			continue
		}
		seen = append(seen, k.Placement)
		label := "CPUs"
		if !k.sharing().Own() {
			label = "placement " + k.Placement
		}
		r.report.Note("%s: %s", label, r.pinning(k))
	}
}

// anyPlaced reports whether rows differ in their placement.
func anyPlaced(lines []median) bool {
	return slices.ContainsFunc(lines, func(m median) bool { return m.Row.Placement != lines[0].Row.Placement })
}
