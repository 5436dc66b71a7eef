package rfp

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// pollers are the paths that a core serves beside its own sessions.
type pollers []rpc.Poller

func (p pollers) step() bool {
	worked := false
	for _, g := range p {
		worked = g.Step() || worked
	}
	return worked
}

func (p pollers) flush() bool {
	worked := false
	for _, g := range p {
		worked = g.Flush() || worked
	}
	return worked
}

// empty reports whether all are.
func (p pollers) empty() bool {
	return !slices.ContainsFunc(p, func(g rpc.Poller) bool { return !g.Empty() })
}

func (p pollers) beforeSleep() {
	for _, g := range p {
		g.BeforeSleep()
	}
}

func (p pollers) pending() bool {
	return slices.ContainsFunc(p, rpc.Poller.Pending)
}

func (p pollers) afterSleep() {
	for _, g := range p {
		g.AfterSleep()
	}
}

// queues returns the completion queues on a device.
func (p pollers) queues(dev fabric.Device) []fabric.CQ {
	var all []fabric.CQ
	for _, g := range p {
		if q := g.Queue(dev); q != nil {
			all = append(all, q)
		}
	}
	return all
}

func (p pollers) reap(dev fabric.Device) bool {
	found := false
	for _, g := range p {
		found = g.Reap(dev) || found
	}
	return found
}

func (p pollers) close() {
	for _, g := range p {
		g.Close()
	}
}

// Wake ends the sleep of a core, for the sake of a poller.
func (s *Server) Wake(core int) { s.base.Cores[core].Waiter.Wake() }
