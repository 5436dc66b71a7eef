package rfp

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// port is a device as one core uses it: its completion queue, and how to sleep
// until something happens there.
//
// A core sleeps in the waiter of its first port. While it does, the completion
// queues of the others are in the hands of their watchers: goroutines that sleep
// in the waiters of those ports and wake the core (T1: one at a time uses a
// queue). The core hands them over before it sleeps and waits to have them back
// when it has woken, before it touches anything of their devices.
type port struct {
	serving.Port
	pollers pollers
	waiter  fabric.Waiter

	out, back chan struct{} // the queue goes to the watcher, and returns
	recalled  atomic.Bool   // it is wanted back
}

func newPort(c *core, dev fabric.Device, w fabric.WaitConfig) (*port, error) {
	cfg := &c.server.cfg
	p := &port{pollers: c.pollers}
	if err := p.Init(dev, cfg.MaxClients*(sessionDepth(cfg.Results)+wakeups)); err != nil {
		return nil, err
	}
	w.Policy, w.CQs = cfg.Policy, append([]fabric.CQ{p.CQ}, c.pollers.queues(dev)...)
	var err error
	if p.waiter, err = dev.NewWaiter(w); err != nil {
		_ = p.CQ.Close()
		return nil, err
	}
	return p, nil
}

// handOver starts a watcher that calls found when there are completions.
func (p *port) handOver(found func()) {
	p.out, p.back = make(chan struct{}), make(chan struct{})
	go func() {
		for range p.out {
			p.watch(found)
			p.back <- struct{}{}
		}
		close(p.back)
	}()
}

// watch sleeps until there are completions, or the queue is wanted back. A Wait
// may end because of a Wake that came late for the one before.
func (p *port) watch(found func()) {
	for !p.recalled.Load() {
		if p.waiter.Wait(p.peek, 0) {
			found()
			return
		}
	}
}

// recall has the queue back.
func (p *port) recall() {
	p.recalled.Store(true)
	p.waiter.Wake()
	<-p.back
	p.recalled.Store(false)
}

// peek takes completions and keeps them for the core, and has the pollers take their own.
func (p *port) peek() bool {
	found := p.pollers.reap(p.Dev)
	return p.Keep() || found
}

func (p *port) close() {
	if p.out != nil {
		close(p.out)
		<-p.back
	}
	_ = p.waiter.Close()
	_ = p.CQ.Close()
}

// beforeSleep is called before the core sleeps; a last look at all sessions follows.
func (c *core) beforeSleep() {
	c.alone = 0 // the last look is one at the pollers, too
	c.parkAll()
	c.pollers.beforeSleep()
	for _, p := range c.ports[1:] {
		p.out <- struct{}{}
		c.asleep = true
	}
}

// afterSleep is called after the sleep.
func (c *core) afterSleep() {
	for _, p := range c.ports[1:] {
		p.recall()
	}
	c.asleep = false
	c.Tick()
	c.leaveParked()
	c.pollers.afterSleep()
}

// poll is what a core does while it waits. Once the other queues are handed over
// it only looks whether there is something to do.
func (c *core) poll() bool {
	if !c.asleep {
		worked := c.stepOnce()
		return c.goOn() || worked || c.look() || c.Waiter.Crowded() && c.pollers.flush()
	}
	for _, s := range c.hot.All {
		if c.requested(s) {
			return true
		}
	}
	return c.pollers.reap(c.ports[0].Dev) || c.pollers.pending() || c.HasMail() || c.Stopping() || c.completionsOf(c.ports[0])
}
