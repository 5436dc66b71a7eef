package cache

import (
	"context"
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric/provider"
)

// Placements returns what Config.Placements may contain, with an example of each percentage.
func Placements() []string { return host.Sharings() }

// checkPlacements refuses placements that cannot be, and writes the others as rows have them.
func (c *Config) checkPlacements(errs *bench.Faults) {
	c.Placements = slices.Clone(c.Placements)
	for i, text := range c.Placements {
		s, err := host.ParseSharing(text)
		if err != nil {
			errs.Add("--placement: %w", err)
			continue
		}
		c.Placements[i] = s.String()
		if c.Server != "" && !s.Own() {
			errs.Add("--placement %v: bench does not choose the CPUs of a server that it has not started: leave out --server", s)
		}
		if client, server := s.Quotas(); client+server != 0 && slices.Contains(c.Fabrics, provider.Loop) && slices.ContainsFunc(c.Paths, isOurs) {
			errs.Add("--placement %v: on %s client and server are one process: use another --fabric", s, provider.Loop)
		}
	}
}

// sharing is what the CPUs of a case are shared with.
func (k *Case) sharing() host.Sharing {
	s, _ := host.ParseSharing(k.Placement) // one of normalize, or "" where nothing is known
	return s
}

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

// press begins what the placement of a trial asks for.
func (t *trial) press(ctx context.Context) error {
	p, err := host.Press(ctx, &t.place, t.server.pid(), t.Env.Helper, t.Env.HelperEnv)
	if err == nil {
		t.pressure = p
	}
	return err
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
