package sendrecv

import "github.com/remora-kv/remora/fabric"

// BeforeSleep is called before the core sleeps. It announces nothing: what comes wakes it (S9).
func (c *core) BeforeSleep() { c.asleep = true }

// Flush does nothing: requests are served when they are found.
func (c *core) Flush() bool { return false }

// Pending reports whether there is something to do, beside what Reap finds. It does
// nothing itself.
func (c *core) Pending() bool { return c.HasMail() }

// AfterSleep is called after the sleep.
func (c *core) AfterSleep() {
	c.asleep, c.quiet = false, 0
	c.Tick()
}

// Queue returns the completion queue on a device, nil where there is none, for the host
// to sleep at.
func (c *core) Queue(dev fabric.Device) fabric.CQ {
	if p := c.portOf(dev); p != nil {
		return p.CQ
	}
	return nil
}

// Reap takes what is in it and keeps it for Step, for which the core has to wake. Between
// BeforeSleep and AfterSleep the goroutine that has the queues of the device may call it.
func (c *core) Reap(dev fabric.Device) bool {
	p := c.portOf(dev)
	return p != nil && p.Keep()
}
