package sendrecv

import "github.com/remora-kv/remora/fabric"

// Doze is called before the core sleeps. Nobody is told: what comes wakes it (S9).
func (c *Core) Doze() { c.dozing = true }

// Pending reports whether there is something to do, beside what Reap finds. It does
// nothing itself.
func (c *Core) Pending() bool { return c.attention.Load() }

// Undoze is called after the sleep.
func (c *Core) Undoze() {
	c.dozing, c.quiet = false, 0
	c.tick()
}

// Queue returns the completion queue on a device, nil where there is none, for the host
// to sleep at.
func (c *Core) Queue(dev fabric.Device) fabric.CQ {
	if p := c.portOf(dev); p != nil {
		return p.cq
	}
	return nil
}

// Reap takes what is in it and keeps it for Step, for which the core has to wake. Between
// Doze and Undoze whoever has the queues of the device may call it.
func (c *Core) Reap(dev fabric.Device) bool {
	p := c.portOf(dev)
	if p == nil {
		return false
	}
	if p.kept == 0 {
		p.kept = p.cq.Poll(p.comps[:])
	}
	return p.kept != 0
}
