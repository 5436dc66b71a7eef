package rpc

import "github.com/remora-kv/remora/fabric"

// Poller is what a host polls: a core of another path, or anything else that the core of
// the host serves beside its own sessions, on the same goroutine. So both reach what this
// core alone may touch. rfp.Server is a host; herd.Server and sendrecv.Server have pollers.
type Poller interface {
	// Step looks at everything once, and reports whether there was work.
	Step() bool
	// Flush serves what the poller holds back in the hope of more, and reports whether there
	// was any. The host calls it before it lets others have its CPU.
	Flush() bool
	// Empty reports whether there are neither clients nor work: then the host polls
	// seldom.
	Empty() bool
	// BeforeSleep is called before the host sleeps. Pending, which does nothing itself,
	// reports whether there is something to do after all. AfterSleep is called after the
	// sleep, which the host can be woken from by any goroutine.
	BeforeSleep()
	Pending() bool
	AfterSleep()
	// Queue returns the poller's completion queue on a device, nil where it has none. The
	// host sleeps at all of them, so that what is in flight there goes on.
	// Reap takes what is in it, and reports whether the host has to wake for that. It is
	// called between BeforeSleep and AfterSleep, by the goroutine that has the queues of the
	// device then.
	Queue(dev fabric.Device) fabric.CQ
	Reap(dev fabric.Device) bool
	// Close is called at the end, when the core of the host has stopped.
	Close()
}
