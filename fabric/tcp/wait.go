package tcp

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

const (
	// spinBurst is how often spinning polls between looks at the clock.
	spinBurst = 4
	// yields is how often an adaptive waiter yields before it sleeps.
	yields = 2
)

// waiter implements fabric.Waiter.
type waiter struct {
	dev           *Device
	cqs           []*cq
	spinner       base.Spinner
	solicitedOnly bool
	beforeSleep   func()
	afterSleep    func()

	woken  chan struct{}
	timer  *time.Timer
	marked []*port  // marked asleep; reused
	places []places // by completion queue
	sleeps atomic.Uint64
	closed atomic.Bool
}

// NewWaiter implements fabric.Device.
func (d *Device) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	w := &waiter{
		dev: d, solicitedOnly: cfg.SolicitedOnly, beforeSleep: cfg.BeforeSleep, afterSleep: cfg.AfterSleep,
		woken: make(chan struct{}, 1), timer: time.NewTimer(math.MaxInt64),
	}
	w.timer.Stop()
	if err := w.spinner.Init(d.clock, &cfg, spinBurst, yields); err != nil {
		return nil, err
	}
	var err error
	w.cqs, err = base.CQs(cfg.CQs, d.name, func(c *cq) bool { return c.dev == d })
	if err != nil {
		return nil, err
	}
	w.places, w.spinner.Peers = make([]places, len(w.cqs)), w
	return w, nil
}

// signal ends the sleep that is under way, or the next one.
func (w *waiter) signal() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// Wake implements fabric.Waiter.
func (w *waiter) Wake() {
	w.spinner.Wake()
	w.signal()
}

// Crowded implements fabric.Waiter.
func (w *waiter) Crowded() bool { return w.spinner.Crowded() }

// Sleeps implements fabric.Waiter.
func (w *waiter) Sleeps() uint64 { return w.sleeps.Load() }

// Wait implements fabric.Waiter.
func (w *waiter) Wait(poll func() bool, timeout time.Duration) bool {
	if poll() {
		return true
	}
	return w.spinner.Wait(func() bool { return w.pollOnce(poll) },
		func(deadline int64) bool { return w.sleep(poll, deadline) }, timeout)
}

// pollOnce calls poll, and sees to it that the ports are driven: a poll that
// looks at memory only does not do it.
func (w *waiter) pollOnce(poll func() bool) bool {
	before := w.polls()
	if poll() {
		return true
	}
	if w.polls() == before {
		for _, c := range w.cqs {
			c.drive()
		}
	}
	return false
}

// polls returns how often the ports were driven by their owner.
func (w *waiter) polls() uint64 {
	var sum uint64
	for _, c := range w.cqs {
		sum += c.port.polls.Load()
	}
	return sum
}

// sleep sleeps until a signal or until the time is over, after it has
// announced that and looked once more. It reports whether poll found
// something.
func (w *waiter) sleep(poll func() bool, deadline int64) bool {
	select {
	case <-w.woken:
	default:
	}
	w.markAsleep()
	for _, c := range w.cqs {
		c.sleeper.Store(w)
	}
	if w.beforeSleep != nil {
		w.beforeSleep()
	}
	hit := w.pollOnce(poll)
	if !hit && !w.spinner.Woken() {
		for _, p := range w.marked {
			p.catchUp()
		}
		w.sleeps.Add(1)
		w.block(deadline)
	}
	for _, c := range w.cqs {
		c.sleeper.Store(nil)
	}
	w.markAwake()
	if w.afterSleep != nil {
		w.afterSleep()
	}
	return hit
}

// block waits to be signalled.
func (w *waiter) block(deadline int64) {
	if deadline == math.MaxInt64 {
		<-w.woken
		return
	}
	left := deadline - w.dev.clock.Now()
	if left <= 0 {
		return
	}
	w.timer.Reset(time.Duration(left))
	select {
	case <-w.woken:
		w.timer.Stop()
	case <-w.timer.C:
	}
}

// markAsleep tells the ports that their owner goes to sleep; markAwake that it is awake.
func (w *waiter) markAsleep() {
	for _, c := range w.cqs {
		w.marked = append(w.marked, c.port)
		if others := c.others.Load(); others != nil {
			w.marked = append(w.marked, *others...)
		}
	}
	for _, p := range w.marked {
		p.markAsleep()
	}
}

func (w *waiter) markAwake() {
	for _, p := range w.marked {
		p.markAwake()
	}
	w.marked = w.marked[:0]
}

// Close implements fabric.Waiter.
func (w *waiter) Close() error {
	if w.closed.Swap(true) {
		return fmt.Errorf("fabric: waiter: %w", fabric.ErrClosed)
	}
	w.timer.Stop()
	return nil
}
