package fabric

import (
	"fmt"
	"time"
)

// Policy says how a waiter waits.
type Policy uint8

// The policies.
const (
	// Adaptive spins, then yields, then sleeps. While a peer is Crowded it yields at once.
	Adaptive Policy = iota
	// Busy spins and never sleeps.
	Busy
)

// PolicyOf returns the policy of waiters that poll all the time, or of those that may sleep.
func PolicyOf(busyPoll bool) Policy {
	if busyPoll {
		return Busy
	}
	return Adaptive
}

// String returns the name used in options: adaptive or busy.
func (p Policy) String() string {
	if p == Busy {
		return "busy"
	}
	return "adaptive"
}

// ParsePolicy is the inverse of String.
func ParsePolicy(s string) (Policy, error) {
	switch s {
	case "adaptive":
		return Adaptive, nil
	case "busy":
		return Busy, nil
	}
	return 0, fmt.Errorf("fabric: polling policy %q is unknown: use adaptive or busy", s)
}

// WaitConfig describes a waiter.
type WaitConfig struct {
	Policy Policy
	// CQs are the completion queues whose events end a sleep. All have the
	// same owner as the waiter (T1).
	CQs []CQ
	// SolicitedOnly sleeps through receives that were not marked (G17).
	SolicitedOnly bool
	// Spin is how long an adaptive waiter polls without a pause before it
	// yields and then sleeps. 0 means DefaultSpin.
	Spin time.Duration
	// BeforeSleep, when not nil, is called just before a sleep, after the completion
	// queues are armed and before poll is called for the last time; AfterSleep
	// after it. A path publishes there that it has to be woken. It does so
	// unsignaled: a completion would end the sleep that it announces.
	BeforeSleep, AfterSleep func()
}

// DefaultSpin is the spinning time of adaptive waiters.
const DefaultSpin = 50 * time.Microsecond

// Waiter is how a thread waits. No code above the fabric spins by itself.
type Waiter interface {
	// Wait calls poll until it returns true, and returns true; or returns
	// false when timeout has passed (0 means forever) or Wake was called,
	// after a last call of poll. poll looks at all completion queues of the
	// waiter and at memory, and does the work it finds: software providers make
	// progress only in CQ.Poll. Wait does not allocate. Sleeps end with the
	// granularity of the system's timers.
	Wait(poll func() bool, timeout time.Duration) bool
	// Wake ends the current Wait, or the next one if there is none. It may be
	// called from any goroutine.
	Wake()
	// Crowded reports whether, when the waiter last looked, a peer of its queue pairs ran on
	// the CPU of its owner: such a peer can answer only when it is given that CPU, so
	// that the owner does better to Wait at once than to poll before.
	Crowded() bool
	// Sleeps returns how often the waiter has slept.
	Sleeps() uint64
	// Close releases the waiter.
	Close() error
}
