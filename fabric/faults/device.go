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
	// roomy says that datagrams are held, so that queues need room for copies.
	roomy bool

	dials, accepts attempts
	past           ledger // corrections to the inner device's counters
	cut            atomic.Bool

	mu     sync.Mutex // guards what follows
	nextQP uint64
	qps    map[*queuePair]struct{}
	struck []Event
}

// Wrap returns dev as seen through a network that does what the plan says; nil
// is the empty plan. Closing the result closes dev.
func Wrap(dev fabric.Device, plan *Plan) *Device {
	d := &Device{Device: dev, clock: dev.Clock(), limits: dev.Limits(), qps: map[*queuePair]struct{}{}}
	if plan != nil {
		d.plan = *plan
	}
	d.roomy = d.plan.holds(fabric.UD)
	d.dials.init(&d.plan, RefuseDial)
	d.accepts.init(&d.plan, RefuseAccept)
	return d
}

// Cut cuts the link: what this device sends by UC and UD vanishes, its RC
// queue pairs break with StatusPeerLost, and it can neither dial nor accept.
func (d *Device) Cut() {
	d.cut.Store(true)
	d.mu.Lock()
	var lost []*queuePair
	for q := range d.qps {
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

// Counters implements fabric.Device. A message that the network lost was sent
// (Out) and thrown away (Dropped); a copy that it made was not sent.
func (d *Device) Counters() fabric.Counters { return d.past.correct(d.Device.Counters()) }

// NewDomain implements fabric.Device.
func (d *Device) NewDomain() (fabric.Domain, error) {
	inner, err := d.Device.NewDomain()
	if err != nil {
		return nil, err
	}
	return &domain{Domain: inner, dev: d}, nil
}

// add gives a queue pair its index and lets Cut find it.
func (d *Device) add(q *queuePair) {
	d.mu.Lock()
	q.index = d.nextQP
	d.nextQP++
	d.qps[q] = struct{}{}
	d.mu.Unlock()
	q.decider = d.plan.decider(q.Transport(), q.index)
	if d.cut.Load() && q.Transport() == fabric.RC {
		q.lose()
	}
}

func (d *Device) remove(q *queuePair) {
	d.mu.Lock()
	delete(d.qps, q)
	d.mu.Unlock()
}

// attempts counts dials, or accepts, and decides which fail.
type attempts struct {
	mu      sync.Mutex
	n       uint64
	streams []stream
}

func (a *attempts) init(p *Plan, f Fault) {
	for i := range p.rules {
		if p.rules[i].fault == f {
			a.streams = append(a.streams, newStream(p.seed, &p.rules[i], 0))
		}
	}
}

// refused decides about the next attempt: nil lets it go on.
func (d *Device) refused(a *attempts) error {
	a.mu.Lock()
	n := a.n
	a.n++
	var by *rule
	for i := range a.streams {
		if s := &a.streams[i]; by == nil && s.strikes(n, fabric.OpRecv) {
			by = s.rule
		}
	}
	a.mu.Unlock()
	if d.cut.Load() {
		return fmt.Errorf("faults: the link of device %s is cut: %w", d.Name(), fabric.ErrRefused)
	}
	if by == nil {
		return nil
	}
	d.record(Event{QP: -1, Op: n, Fault: by.fault})
	return fmt.Errorf("faults: attempt %d of device %s fails by plan: %w", n, d.Name(), fabric.ErrRefused)
}
