package faults

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// Device is a device on a bad network.
type Device struct {
	fabric.Device // the inner one
	plan          Plan
	clock         fabric.Clock
	limits        fabric.Limits

	dials, accepts attempts
	cut            atomic.Bool

	mu     sync.Mutex // guards what follows
	nextQP uint64
	qps    map[uint32]*queuePair // by number
	struck []Event
}

// attempts counts dials, or accepts, and decides which fail.
type attempts struct {
	mu sync.Mutex
	n  uint64
	decider
}

// Wrap returns dev as seen through a network that does what the plan says; nil
// is the empty plan. Closing the result closes dev.
func Wrap(dev fabric.Device, plan *Plan) *Device {
	d := &Device{Device: dev, clock: dev.Clock(), limits: dev.Limits(), qps: map[uint32]*queuePair{}}
	if plan != nil {
		d.plan = *plan
	}
	d.limits.InOrder = d.limits.InOrder && d.plan.inOrder()
	d.dials.decider, d.accepts.decider = d.plan.decider("dial", 0), d.plan.decider("accept", 0)
	return d
}

// Limits implements fabric.Device: those of the inner device, but InOrder only if the plan
// leaves the order alone.
func (d *Device) Limits() fabric.Limits { return d.limits }

// Cut cuts the link: what this device sends by UC and UD vanishes, its RC
// queue pairs break with StatusPeerLost, and it can neither dial nor accept.
func (d *Device) Cut() {
	d.cut.Store(true)
	d.mu.Lock()
	var lost []*queuePair
	for _, q := range d.qps {
		if q.Transport() == fabric.RC {
			lost = append(lost, q)
		}
	}
	d.mu.Unlock()
	for _, q := range lost {
		q.lose()
	}
}

// Heal mends the link. Broken queue pairs stay broken.
func (d *Device) Heal() { d.cut.Store(false) }

// Event is one operation that was struck.
type Event struct {
	// QP is the index of the queue pair, -1 for Dial and Accept.
	QP int
	// Op is the number of the operation on its queue pair, or of the attempt.
	Op    uint64
	Fault Fault
}

// maxEvents is how many events a device keeps.
const maxEvents = 1 << 16

func (d *Device) record(e Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.struck) < maxEvents {
		d.struck = append(d.struck, e)
	}
}

// Struck returns what was struck so far, the first 65536 operations, sorted by
// queue pair and operation: equal for equal runs (F1).
func (d *Device) Struck() []Event {
	d.mu.Lock()
	events := slices.Clone(d.struck)
	d.mu.Unlock()
	slices.SortFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.QP, b.QP), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Fault, b.Fault))
	})
	return events
}

// add gives a queue pair its index, and lets completions and Cut find it.
func (d *Device) add(q *queuePair) {
	d.mu.Lock()
	q.index = d.nextQP
	d.nextQP++
	d.qps[q.Num()] = q
	d.mu.Unlock()
	q.decider = d.plan.decider(q.Transport().String(), q.index)
	if d.cut.Load() && q.Transport() == fabric.RC {
		q.lose()
	}
}

// find returns the queue pair with a number, or nil.
func (d *Device) find(num uint32) *queuePair {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.qps[num]
}

func (d *Device) remove(q *queuePair) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.qps[q.Num()] == q { // the inner device may have given the number away again
		delete(d.qps, q.Num())
	}
}

// refused decides about the next attempt: nil lets it go on.
func (d *Device) refused(a *attempts) error {
	a.mu.Lock()
	n := a.n
	a.n++
	r := a.decide(n, fabric.OpRecv)
	a.mu.Unlock()
	switch {
	case d.cut.Load():
		return fmt.Errorf("faults: the link of device %s is cut: %w", d.Name(), fabric.ErrRefused)
	case r == nil:
		return nil
	}
	d.record(Event{-1, n, r.fault})
	return fmt.Errorf("faults: attempt %d of device %s fails by plan: %w", n, d.Name(), fabric.ErrRefused)
}
