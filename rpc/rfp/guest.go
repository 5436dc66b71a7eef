package rfp

import (
	"slices"

	"github.com/remora-kv/remora/fabric"
)

// Guest is another path that a core serves beside its own sessions, on the same
// goroutine: so both reach what this core alone may touch. herd.Core is one, and
// sendrecv.Core.
type Guest interface {
	// Step looks at everything once, and reports whether there was work.
	Step() bool
	// Empty reports whether it has no clients, nor work: then it is looked at seldom.
	Empty() bool
	// Doze is called before the core sleeps. Pending, which does nothing itself,
	// reports whether there is something to do after all. Undoze is called after the
	// sleep, which Server.Wake ends.
	Doze()
	Pending() bool
	Undoze()
	// Queue returns the guest's completion queue on a device, nil where it has none: it
	// is among those that the core sleeps at, so that what is under way there goes on.
	// Reap takes what is in it, and reports whether the core has to wake for that. It is
	// called between Doze and Undoze, by whoever has the queues of the device then.
	Queue(dev fabric.Device) fabric.CQ
	Reap(dev fabric.Device) bool
	// Close is called at the end, when the core has stopped.
	Close()
}

// party is the guests of a core.
type party []Guest

func (p party) step() bool {
	worked := false
	for _, g := range p {
		worked = g.Step() || worked
	}
	return worked
}

// empty reports whether all are.
func (p party) empty() bool {
	return !slices.ContainsFunc(p, func(g Guest) bool { return !g.Empty() })
}

func (p party) doze() {
	for _, g := range p {
		g.Doze()
	}
}

func (p party) pending() bool {
	return slices.ContainsFunc(p, Guest.Pending)
}

func (p party) undoze() {
	for _, g := range p {
		g.Undoze()
	}
}

// queues returns the completion queues on a device.
func (p party) queues(dev fabric.Device) []fabric.CQ {
	var all []fabric.CQ
	for _, g := range p {
		if q := g.Queue(dev); q != nil {
			all = append(all, q)
		}
	}
	return all
}

func (p party) reap(dev fabric.Device) bool {
	found := false
	for _, g := range p {
		found = g.Reap(dev) || found
	}
	return found
}

func (p party) close() {
	for _, g := range p {
		g.Close()
	}
}

// Wake ends the sleep of a core, for the sake of a guest.
func (s *Server) Wake(core int) { s.cores[core].ports[0].waiter.Wake() }
