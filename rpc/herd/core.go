package herd

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
)

// Core serves the chunks of one core. Its methods are for a host that drives it, from
// one goroutine: Step again and again; Doze before it sleeps at the queues of all devices
// (Queue, Reap), then Pending for the last look, Undoze after it; Close at the end.
type Core struct {
	server  *Server
	index   int
	clock   fabric.Clock
	outlets []*outlet
	waiter  fabric.Waiter // of a core without a host
	stop    atomic.Bool
	done    chan struct{}
	pollf   func() bool

	chunks  []*chunk
	hot     []*chunk // whose requests are looked for
	retired []*chunk // let go, with SENDs that are not known to be complete
	sweep   uint64
	pipe    pipeline
	call    rpc.Call

	attention atomic.Bool // something below is not empty
	mu        sync.Mutex
	arrivals  []*chunk
	removals  []*chunk
	rings     []*chunk
	control   []func()
	ringing   []*chunk // rings as the core takes them
	closed    bool
	ending    bool // outlets stay as they are

	stats coreStats
}

func newCore(s *Server, index int) (*Core, error) {
	cfg := &s.cfg
	c := &Core{server: s, index: index, clock: cfg.Devices[0].Clock(), done: make(chan struct{})}
	c.pipe.init(cfg)
	for _, p := range s.ports {
		o, err := newOutlet(p, cfg.Inline)
		if err != nil {
			c.closeOutlets()
			return nil, fmt.Errorf("herd: core %d: %w", index, err)
		}
		c.outlets = append(c.outlets, o)
	}
	if cfg.Wake == nil {
		w := fabric.WaitConfig{Policy: cfg.Policy, Doze: c.Doze, Undoze: c.Undoze, CQs: []fabric.CQ{c.outlets[0].cq}}
		var err error
		if c.waiter, err = cfg.Devices[0].NewWaiter(w); err != nil {
			c.closeOutlets()
			return nil, fmt.Errorf("herd: core %d: %w", index, err)
		}
	}
	c.pollf = func() bool { return c.Step() || c.stop.Load() }
	c.tick()
	return c, nil
}

func (c *Core) closeOutlets() {
	for _, o := range c.outlets {
		o.close()
	}
}

// outletOn returns the outlet on a device, nil when there is none.
func (c *Core) outletOn(dev fabric.Device) *outlet {
	for _, o := range c.outlets {
		if o.port.dev == dev {
			return o
		}
	}
	return nil
}

// idleSteps is how often a core looks in vain before it lets its waiter decide
// how to go on.
const idleSteps = 256

// run drives a core that has no host.
func (c *Core) run() {
	defer close(c.done)
	for !c.stop.Load() {
		for idle := 0; idle < idleSteps && !c.stop.Load(); {
			if idle++; c.Step() {
				idle = 0
			}
		}
		c.waiter.Wait(c.pollf, 0)
	}
	c.Close()
	_ = c.waiter.Close()
}

// end stops a core that has no host, and closes one whose host did not.
func (c *Core) end(running bool) {
	if running {
		c.stop.Store(true)
		c.wake()
		<-c.done
	}
	c.Close()
}

// wake makes the core look at what others have left for it. The lock keeps the waiter
// of the core, or that of its host, from being closed meanwhile.
func (c *Core) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.attention.Store(true)
	if c.waiter == nil {
		c.server.cfg.Wake(c.index)
	} else {
		c.waiter.Wake()
	}
}

// tick looks at the clock for handlers, which need not know better when they are
// called than a few sweeps.
func (c *Core) tick() { c.call.Now = c.clock.Now() }

const (
	// lookEvery is in how many sweeps there is one look at what is not requests,
	// tickEvery one look at the clock.
	lookEvery = 8
	tickEvery = 32
	// parkEvery is after how many sweeps idle chunks are looked for, and parkAfter how
	// many sweeps without a request make one.
	parkEvery = 1 << 12
	parkAfter = 1 << 14
)

// Step looks at everything once, and reports whether there was work.
func (c *Core) Step() bool {
	worked := false
	for _, ch := range c.hot {
		if fence.Observe64(ch.slots[ch.slot].stamp) == ch.stamp {
			c.take(ch)
			worked = true // also when it has to wait: that is not long, and nothing wakes for it
		}
	}
	if !worked && c.pipe.busy() {
		worked = c.idle()
	}
	if c.sweep++; c.sweep%tickEvery == 0 {
		c.tick()
	}
	if c.sweep%lookEvery == 0 && (c.attention.Load() || len(c.retired) != 0) {
		c.look()
		worked = true
	}
	if c.sweep%parkEvery == 0 {
		c.parkIdle()
		c.mendOutlets()
	}
	return worked
}

// Empty reports whether there are no clients.
func (c *Core) Empty() bool { return len(c.chunks) == 0 && len(c.retired) == 0 && !c.attention.Load() }

// look takes what others have left for the core.
func (c *Core) look() {
	c.attention.Store(false)
	c.mu.Lock()
	arrivals, removals, control := c.arrivals, c.removals, c.control
	c.arrivals, c.removals, c.control = nil, nil, nil
	c.rings, c.ringing = c.ringing[:0], c.rings
	c.mu.Unlock()
	c.mendOutlets()
	for _, ch := range arrivals {
		c.enter(ch)
	}
	for _, ch := range c.ringing {
		c.answerRing(ch)
	}
	for _, ch := range removals {
		c.drop(ch)
	}
	for _, f := range control {
		f()
	}
	c.retire()
}

// add hands a chunk over to the core.
func (c *Core) add(ch *chunk) { c.leave(&c.arrivals, ch) }

// remove has the core let go of a chunk.
func (c *Core) remove(ch *chunk) { c.leave(&c.removals, ch) }

// leave puts a chunk where the core finds it. A closed core has let go of all that
// it had; what comes later is let go of here, once.
func (c *Core) leave(list *[]*chunk, ch *chunk) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		*list = append(*list, ch)
	}
	c.mu.Unlock()
	if !closed {
		c.wake()
	} else if !ch.gone {
		ch.gone = true
		c.finish(ch)
	}
}

// do has the core's goroutine call f and waits for it; on a closed core it is called
// here.
func (c *Core) do(f func()) {
	called := make(chan struct{})
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		f()
		return
	}
	c.control = append(c.control, func() { f(); close(called) })
	c.mu.Unlock()
	c.wake()
	<-called
}

// Close ends the core: it lets go of all chunks. A second Close does nothing.
func (c *Core) Close() {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return
	}
	c.ending = true
	c.closeOutlets()
	for !closed {
		c.look()
		for len(c.chunks) != 0 {
			c.drop(c.chunks[len(c.chunks)-1])
		}
		c.retire()
		c.mu.Lock()
		closed = len(c.arrivals)+len(c.removals)+len(c.control) == 0
		c.closed = closed
		c.mu.Unlock()
	}
}
