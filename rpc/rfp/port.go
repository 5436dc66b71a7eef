package rfp

import (
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// port is a device as one core uses it: its completion queue, and how to sleep
// until something happens there.
//
// A core sleeps in the waiter of its first port. While it does, the completion
// queues of the others are in the hands of their lookouts: goroutines that sleep
// in the waiters of those ports and wake the core (T1: one at a time uses a
// queue). The core hands them over before it sleeps and waits to have them back
// when it has woken, before it touches anything of their devices.
type port struct {
	dev    fabric.Device
	guests party
	cq     fabric.CQ
	waiter fabric.Waiter
	comps  [32]fabric.Completion
	kept   int // completions that a lookout has taken

	out, back chan struct{} // the queue goes to the lookout, and returns
	recalled  atomic.Bool   // it is wanted back
}

func newPort(c *core, dev fabric.Device, w fabric.WaitConfig) (*port, error) {
	cfg := &c.server.cfg
	depth := cfg.MaxClients * (sessionDepth(cfg.Results) + bells)
	cq, err := dev.NewCQ(min(depth, dev.Limits().MaxCQDepth))
	if err != nil {
		return nil, fmt.Errorf("rfp: core %d: %w", c.index, err)
	}
	w.Policy, w.CQs = cfg.Policy, append([]fabric.CQ{cq}, c.guests.queues(dev)...)
	waiter, err := dev.NewWaiter(w)
	if err != nil {
		_ = cq.Close()
		return nil, fmt.Errorf("rfp: core %d: %w", c.index, err)
	}
	return &port{dev: dev, guests: c.guests, cq: cq, waiter: waiter}, nil
}

// lookOut starts a lookout that calls found when there are completions.
func (p *port) lookOut(found func()) {
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

// peek takes completions and keeps them for the core, and has the guests take their own.
func (p *port) peek() bool {
	found := p.guests.reap(p.dev)
	if p.kept == 0 {
		p.kept = p.cq.Poll(p.comps[:])
	}
	return found || p.kept != 0
}

// poll returns the completions that there are. They are valid until the next
// call.
func (p *port) poll() []fabric.Completion {
	n := p.kept
	p.kept = 0
	if n == 0 {
		n = p.cq.Poll(p.comps[:])
	}
	return p.comps[:n]
}

func (p *port) close() {
	if p.out != nil {
		close(p.out)
		<-p.back
	}
	_ = p.waiter.Close()
	_ = p.cq.Close()
}

// doze is called before the core sleeps; a last look at all sessions follows.
func (c *core) doze() {
	c.alone = 0 // the last look is one at the guests, too
	c.parkAll()
	c.guests.doze()
	for _, p := range c.ports[1:] {
		p.out <- struct{}{}
		c.dozing = true
	}
}

// undoze is called after the sleep.
func (c *core) undoze() {
	for _, p := range c.ports[1:] {
		p.recall()
	}
	c.dozing = false
	c.tick()
	c.leaveParked()
	c.guests.undoze()
}

// poll is what a core does while it waits. Once the other queues are handed over
// it only looks whether there is something to do.
func (c *core) poll() bool {
	if !c.dozing {
		return c.step() || c.look()
	}
	for _, s := range c.hot {
		if c.requested(s) {
			return true
		}
	}
	return c.guests.reap(c.ports[0].dev) || c.guests.pending() || c.attention.Load() || c.stop.Load() || c.completionsOf(c.ports[0])
}

// portOf returns the port of a device.
func (c *core) portOf(dev fabric.Device) *port {
	for _, p := range c.ports {
		if p.dev == dev {
			return p
		}
	}
	return nil
}
