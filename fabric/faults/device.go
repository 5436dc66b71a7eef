package faults

import (
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
	rules         []rule
	clock         fabric.Clock
	limits        fabric.Limits
	// slow is how long completions are held back, in nanoseconds.
	slow int64
	// roomy says that datagrams are held, so that queues need room for copies.
	roomy bool

	dials, accepts attempts
	attempts       journal
	stats          stats
	past           ledger // corrections to the inner device's counters
	cut            atomic.Bool

	mu       sync.Mutex // guards what follows
	nextQP   uint64
	qps      map[*queuePair]struct{}
	journals []*journal
}

// Wrap returns dev as seen through a network that does what the plan says; nil
// is the empty plan. The plan is copied. A plan that Validate refuses is a bug
// of the caller and panics. Closing the result closes dev.
func Wrap(dev fabric.Device, plan *Plan) *Device {
	if plan == nil {
		plan = &Plan{}
	}
	if err := plan.Validate(); err != nil {
		panic(err.Error())
	}
	d := &Device{
		Device: dev, clock: dev.Clock(), limits: dev.Limits(), qps: map[*queuePair]struct{}{},
		plan: Plan{Seed: plan.Seed, Rules: slices.Clone(plan.Rules)},
	}
	for i, r := range d.plan.Rules {
		c := compile(i, r)
		if c.Fault == Slow {
			d.slow += int64(c.Time)
		} else {
			d.rules = append(d.rules, c)
		}
	}
	d.roomy = d.holds(fabric.UD)
	d.dials.init(d, RefuseDial)
	d.accepts.init(d, RefuseAccept)
	return d
}

// Unwrap returns the inner device.
func (d *Device) Unwrap() fabric.Device { return d.Device }

// Plan returns a copy of the plan.
func (d *Device) Plan() *Plan {
	return &Plan{Seed: d.plan.Seed, Rules: slices.Clone(d.plan.Rules)}
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
	q.decider = d.decider(q.Transport(), q.index)
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
	fault   Fault
	mu      sync.Mutex
	n       uint64
	streams []stream
}

func (a *attempts) init(d *Device, f Fault) {
	a.fault = f
	for i := range d.rules {
		if d.rules[i].Fault == f {
			a.streams = append(a.streams, newStream(d.plan.Seed, &d.rules[i], 0))
		}
	}
}

// refused decides about the next attempt: nil lets it go on.
func (d *Device) refused(a *attempts) error {
	a.mu.Lock()
	n := a.n
	a.n++
	struck := -1
	for i := range a.streams {
		if s := &a.streams[i]; struck < 0 && s.strikes(n, 0) {
			struck = s.place
		}
	}
	a.mu.Unlock()
	if d.cut.Load() {
		return fmt.Errorf("faults: the link of device %s is cut: %w", d.Name(), fabric.ErrRefused)
	}
	if struck < 0 {
		return nil
	}
	d.attempts.add(Event{QP: -1, Op: n, Fault: a.fault, Rule: struck})
	d.stats.struck[a.fault].Add(1)
	return fmt.Errorf("faults: attempt %d of device %s fails by plan: %w", n, d.Name(), fabric.ErrRefused)
}
