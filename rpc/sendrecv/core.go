package sendrecv

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Core serves the sessions of one core. Its methods are for a host that drives it, from
// one goroutine: Step again and again; Doze before it sleeps at the queues of all devices
// (Queue, Reap), then Pending for the last look, Undoze after it; Close at the end.
type Core struct {
	server *Server
	index  int
	clock  fabric.Clock
	ports  []*port
	waiter fabric.Waiter // of a core without a host
	stop   atomic.Bool
	done   chan struct{}
	pollf  func() bool

	sessions []*session // by tag
	live     int        // of them
	nextID   uint32
	due      []*session // with requests that were not served
	sweep    uint64
	quiet    int  // steps in vain since there was work
	dozing   bool // every look is at everything

	batch [ExpectMost][]byte
	call  rpc.Call
	sends [chain]fabric.WR
	recvs [chain]fabric.RecvWR

	attention atomic.Bool // inbox is not empty
	mu        sync.Mutex
	inbox     []*session
	reserved  int
	closed    bool

	memory atomic.Int64 // bytes of sessions
	stats  coreStats
}

// chain is how many replies are posted together at most.
const chain = 16

// port is a device as one core uses it.
type port struct {
	dev   fabric.Device
	cq    fabric.CQ
	comps [64]fabric.Completion
	kept  int // completions that were taken while the core dozed
	live  int // sessions
}

// take returns the completions that there are. They are valid until the next call.
func (p *port) take() []fabric.Completion {
	n := p.kept
	if p.kept = 0; n == 0 {
		n = p.cq.Poll(p.comps[:])
	}
	return p.comps[:n]
}

func newCore(s *Server, index int) (*Core, error) {
	cfg := &s.cfg
	c := &Core{server: s, index: index, clock: cfg.Devices[0].Clock(), done: make(chan struct{})}
	size := dimensions{window: cfg.Window}
	depth := cfg.MaxClients * (size.sendDepth() + size.receives())
	for _, dev := range cfg.Devices {
		cq, err := dev.NewCQ(min(depth, dev.Limits().MaxCQDepth))
		if err != nil {
			c.closeQueues()
			return nil, fmt.Errorf("sendrecv: core %d: %w", index, err)
		}
		c.ports = append(c.ports, &port{dev: dev, cq: cq})
	}
	if cfg.Wake == nil {
		w := fabric.WaitConfig{Policy: cfg.Policy, CQs: []fabric.CQ{c.ports[0].cq}, Doze: c.Doze, Undoze: c.Undoze}
		var err error
		if c.waiter, err = cfg.Devices[0].NewWaiter(w); err != nil {
			c.closeQueues()
			return nil, fmt.Errorf("sendrecv: core %d: %w", index, err)
		}
	}
	c.pollf = func() bool { return c.Step() || c.stop.Load() }
	c.tick()
	return c, nil
}

func (c *Core) closeQueues() {
	for _, p := range c.ports {
		_ = p.cq.Close()
	}
}

// portOf returns the port of a device, nil when there is none.
func (c *Core) portOf(dev fabric.Device) *port {
	for _, p := range c.ports {
		if p.dev == dev {
			return p
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
		c.waiter.Wake()
		<-c.done
	}
	c.Close()
}

// reserve makes sure of room for one more session.
func (c *Core) reserve() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(c.reserved) >= c.server.most.Load() {
		return fmt.Errorf("core %d has its %d clients already", c.index, c.reserved)
	}
	c.reserved++
	return nil
}

func (c *Core) unreserve() {
	c.mu.Lock()
	c.reserved--
	c.mu.Unlock()
}

// clients is how many sessions there are.
func (c *Core) clients() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reserved
}

// add hands a session over to the core, and wakes it. The lock keeps the waiter of the
// core, or that of its host, from being closed meanwhile.
func (c *Core) add(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		c.reserved--
		_ = s.qp.Close()
		c.server.reaper.Take(s)
		return
	}
	c.inbox = append(c.inbox, s)
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
	// quietSteps in vain make a core look for requests as seldom: a host may have others
	// to serve, who would pay for it.
	quietSteps = 64
)

// Step looks at everything once, and reports whether there was work.
func (c *Core) Step() bool {
	c.sweep++
	seldom := c.sweep%lookEvery == 0 || c.dozing
	worked := false
	if seldom && c.attention.Load() {
		c.attend()
		worked = true
	}
	if c.live == 0 {
		return worked
	}
	if c.sweep%tickEvery == 0 {
		c.tick()
	}
	if c.quiet > quietSteps && !seldom {
		return worked
	}
	worked = c.completions() || worked
	if len(c.due) != 0 && c.serveDue() {
		worked = true
	}
	if c.quiet++; worked {
		c.quiet = 0
	}
	return worked
}

// Empty reports whether there are no clients.
func (c *Core) Empty() bool { return c.live == 0 && !c.attention.Load() }

// attend takes new sessions.
func (c *Core) attend() {
	c.attention.Store(false)
	c.tick() // nobody may have looked for long
	c.mu.Lock()
	inbox := c.inbox
	c.inbox = nil
	c.mu.Unlock()
	for _, s := range inbox {
		c.enter(s)
	}
}

// enter makes a session one of the core's, and tells its client that receives are posted
// (S1).
func (c *Core) enter(s *session) {
	c.nextID++
	s.id, s.tag = c.nextID, -1
	for tag, other := range c.sessions {
		if other == nil {
			s.tag = tag
			break
		}
	}
	if s.tag < 0 {
		s.tag = len(c.sessions)
		c.sessions = append(c.sessions, nil)
	}
	c.sessions[s.tag] = s
	c.live++
	s.port.live++
	c.stats.connects.Add(1)
	for n := range uint64(s.size.receives()) {
		s.prepareReceive(&c.recvs[0], n)
		if _, err := s.qp.PostRecv(c.recvs[:1]); err != nil {
			c.lost(s, err)
			return
		}
	}
	at := s.size.sendAt(0)
	header{kind: kindReady}.put(s.mem[at:])
	s.prepareSend(&c.sends[0], at, headerSize)
	if _, err := s.qp.Post(c.sends[:1]); err != nil {
		c.lost(s, err)
	}
}

// of returns the session of a completion, or nil when it is gone.
func (c *Core) of(id uint64) *session {
	if tag := id >> 32; tag < uint64(len(c.sessions)) {
		if s := c.sessions[tag]; s != nil && s.id == uint32(id) {
			return s
		}
	}
	return nil
}

// Close ends the core: it ends all sessions. A second Close does nothing.
func (c *Core) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.mu.Unlock()
	c.attend() // nothing comes any more
	for _, s := range c.sessions {
		if s != nil {
			c.drop(s)
		}
	}
	c.closeQueues()
}
