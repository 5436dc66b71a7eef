package sendrecv

import (
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// core serves the sessions of one core. It is what a host polls (rpc.Poller).
type core struct {
	serving.Core
	server *Server
	ports  []*port

	sessions serving.Table[session]
	due      []*session // with requests that were not served
	quiet    int        // steps in vain since there was work
	asleep   bool       // every look is at everything

	batch [ExpectMost][]byte
	sends [chain]fabric.WR
	recvs [chain]fabric.RecvWR

	memory atomic.Int64 // bytes of sessions
	stalls atomic.Uint64
}

var _ rpc.Poller = (*core)(nil)

// chain is how many replies are posted together at most.
const chain = 16

// port is a device as one core uses it.
type port struct {
	serving.Port
	live int // sessions
}

func (s *Server) newCore(index int) (*core, error) {
	c := &core{server: s}
	c.Init(s.base.Acceptor, index)
	size := dimensions{window: s.cfg.Window}
	depth := s.cfg.MaxClients * (size.sendDepth() + size.receives())
	for _, dev := range s.cfg.Devices {
		p := new(port)
		if err := p.Init(dev, depth); err != nil {
			c.closeQueues()
			return nil, err
		}
		c.ports = append(c.ports, p)
	}
	if err := c.InitWaiter(c.ports[0].CQ, c); err != nil {
		c.closeQueues()
		return nil, err
	}
	return c, nil
}

// Moves returns what a core without a host does.
func (c *core) Moves() serving.Moves {
	return serving.Moves{Work: c.work, Poll: func() bool { return c.Step() || c.Stopping() }, Close: c.Close}
}

func (c *core) work() {
	for c.More(c.Step()) {
	}
}

func (c *core) closeQueues() {
	for _, p := range c.ports {
		_ = p.CQ.Close()
	}
}

// portOf returns the port of a device, nil when there is none.
func (c *core) portOf(dev fabric.Device) *port {
	return serving.On(c.server.base.Acceptor, c.ports, dev)
}

// quietSteps in vain make a core look for requests as seldom as for the rest: a host may
// have other clients to serve, which would pay for it.
const quietSteps = 64

// Step looks at everything once, and reports whether there was work.
func (c *core) Step() bool {
	c.Sweep++
	seldom := c.Sweep%serving.LookEvery == 0 || c.asleep
	worked := false
	if seldom && c.HasMail() {
		c.Tick() // the last sweep may be long ago
		c.Attend()
		worked = true
	}
	if c.sessions.Len() == 0 {
		return worked
	}
	if c.Sweep%serving.TickEvery == 0 {
		c.Tick()
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
func (c *core) Empty() bool { return c.sessions.Len() == 0 && !c.HasMail() }

// Enter makes a session one of the core's, and tells its client that receives are posted
// (S1).
func (c *core) Enter(s *session) {
	if c.Ending() {
		c.discard(s)
		return
	}
	s.id = c.sessions.Add(s)
	s.port.live++
	c.Connects.Add(1)
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

// Close ends the core: it ends all sessions. A second Close does nothing.
func (c *core) Close() {
	if !c.End(c.dropAll) {
		return
	}
	c.closeQueues()
	if c.Waiter != nil {
		_ = c.Waiter.Close()
	}
}

func (c *core) dropAll() {
	for s := range c.sessions.All() {
		c.drop(s)
	}
}
