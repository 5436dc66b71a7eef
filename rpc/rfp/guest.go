package rfp

import "github.com/remora-kv/remora/fabric"

// Guest is another path that a core serves beside its own sessions, on the same
// goroutine: so both reach what this core alone may touch. herd.Core is one.
type Guest interface {
	// Step looks at everything once, and reports whether there was work.
	Step() bool
	// Doze is called before the core sleeps. Pending, which does nothing itself,
	// reports whether there is something to do after all. Undoze is called after the
	// sleep, which Server.Wake ends.
	Doze()
	Pending() bool
	Undoze()
	// Queue returns the guest's completion queue on a device, nil where it has none: it
	// is among those that the core sleeps at, so that what is under way there goes on.
	// Reap takes what is in it. It is called between Doze and Undoze, by whoever has the
	// queues of the device then.
	Queue(dev fabric.Device) fabric.CQ
	Reap(dev fabric.Device)
	// Close is called at the end, when the core has stopped.
	Close()
}

// nobody is the guest of a core that has none.
type nobody struct{}

func (nobody) Step() bool                    { return false }
func (nobody) Doze()                         {}
func (nobody) Pending() bool                 { return false }
func (nobody) Undoze()                       {}
func (nobody) Queue(fabric.Device) fabric.CQ { return nil }
func (nobody) Reap(fabric.Device)            {}
func (nobody) Close()                        {}

// Wake ends the sleep of a core, for the sake of its guest.
func (s *Server) Wake(core int) { s.cores[core].ports[0].waiter.Wake() }
