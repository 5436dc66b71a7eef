package rfp

import (
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// core serves its sessions, one message at a time.
type core struct {
	serving.Core
	server  *Server
	ports   []*port // by device
	asleep  bool    // the queues of all but the first are handed over
	pollers pollers
	alone   int // looks at the pollers since they had work

	sessions serving.Table[session]
	hot      serving.List[session] // whose requests are looked for
	slow     serving.List[session] // with frames that wait for room, or pushes for a place

	// For long messages: buffers, and waiting for a client to take pieces.
	spares     spares
	joined     []byte
	entry      [pieceEntry]byte
	roomWaiter fabric.Waiter
	roomCamef  func() bool
	roomFor    *session
	roomSize   int
	roomPart   int

	in      []byte // the request frame being served: a copy
	now     current
	batch   [ExpectMost][]byte
	told    int // messages of it that Expect was called with
	whole   int // of them, how many come before the first that is only a part
	results Results
	out     []byte // payload of the result frame being filled
	fill    int
	start   int64            // when the frame being served was noticed; 0: not measured
	pushAll bool             // the answer being made is pushed in any case
	one     [1]fabric.WR     // being posted
	recv    [1]fabric.RecvWR // likewise

	stats coreStats
}

func (s *Server) newCore(index int) (*core, error) {
	cfg := &s.cfg
	c := &core{server: s}
	c.Init(s.base.Acceptor, index)
	if len(cfg.Pollers) != 0 {
		c.pollers = cfg.Pollers[index]
	}
	c.in, c.out = make([]byte, 8+cfg.Payload), make([]byte, cfg.Payload)
	for i, dev := range append([]fabric.Device{cfg.Device}, cfg.Others...) {
		wait := fabric.WaitConfig{BeforeSleep: c.beforeSleep, AfterSleep: c.afterSleep}
		if i != 0 {
			wait = fabric.WaitConfig{Spin: time.Nanosecond} // the core has spun already
		}
		p, err := newPort(c, dev, wait)
		if err != nil {
			c.free()
			return nil, err
		}
		if c.ports = append(c.ports, p); i != 0 {
			p.handOver(c.ports[0].waiter.Wake)
		}
	}
	var err error
	if c.roomWaiter, err = cfg.Device.NewWaiter(fabric.WaitConfig{Policy: fabric.Busy}); err != nil {
		c.free()
		return nil, err
	}
	c.Waiter, c.roomCamef = c.ports[0].waiter, c.roomCame
	return c, nil
}

// stalledSleep bounds the sleep of a core that waits for a client to make room,
// which does not wake the core.
const stalledSleep = time.Millisecond

// Moves returns what a core does. At the end it closes its pollers.
func (c *core) Moves() serving.Moves {
	return serving.Moves{Work: c.work, Poll: c.poll, Close: func() { c.pollers.close(); c.Close() }}
}

func (c *core) work() {
	for c.steps(); c.goOn(); c.steps() {
	}
	if c.MaxSleep = 0; len(c.slow.All) != 0 {
		c.MaxSleep = stalledSleep
	}
}

// Close ends the core and its sessions. A second Close does nothing.
func (c *core) Close() {
	if c.End(c.dropAll) {
		c.free()
	}
}

func (c *core) dropAll() {
	for s := range c.sessions.All() {
		c.drop(s)
	}
}

// free gives back the queues.
func (c *core) free() {
	if c.roomWaiter != nil {
		_ = c.roomWaiter.Close()
	}
	for _, p := range c.ports {
		p.close()
	}
}

// steps looks at everything until there is nothing to do, or a handler has panicked.
func (c *core) steps() {
	defer c.Catch()
	for c.More(c.step()) {
	}
}

// stepOnce is a step of a core that waits.
func (c *core) stepOnce() (worked bool) {
	defer c.Catch()
	return c.step()
}

// step looks at everything once, and reports whether there was work.
func (c *core) step() bool {
	worked := false
	for i := 0; i < len(c.hot.All); i++ {
		s := c.hot.All[i]
		if c.serve(s) {
			s.lastSeen, worked = c.Sweep, true
		}
		if i < len(c.hot.All) && c.hot.All[i] != s {
			i-- // it was dropped, another took its place
		}
	}
	if len(c.pollers) != 0 && (c.alone < aloneAfter || c.Sweep%serving.LookEvery == 0) {
		if c.alone++; c.pollers.step() {
			c.alone, worked = 0, true
		} else if c.alone == aloneAfter && !c.pollers.empty() {
			c.alone = 0
		}
	}
	if c.Sweep++; c.Sweep%serving.TickEvery == 0 {
		c.Tick()
	}
	if len(c.slow.All) != 0 && c.resume() {
		worked = true
	}
	if c.Sweep%serving.LookEvery == 0 && c.look() {
		worked = true
	}
	if c.Sweep%serving.ParkEvery == 0 {
		c.parkIdle()
	}
	return worked
}

// aloneAfter is after how many looks in vain pollers without clients are polled seldom.
const aloneAfter = 256

// look takes completions, new sessions and the requests of other goroutines.
func (c *core) look() bool {
	if c.HasMail() {
		c.Attend()
		return true
	}
	return c.completions()
}

// Enter makes a session one of the core's.
func (c *core) Enter(s *session) {
	s.id = c.sessions.Add(s)
	c.Connects.Add(1)
	for range wakeups {
		if !c.postReceive(s) {
			return
		}
	}
	c.heat(s)
}

// postReceive posts a receive for a wake-up by the client.
func (c *core) postReceive(s *session) bool {
	c.recv[0].ID = s.id
	if _, err := s.qp.PostRecv(c.recv[:]); err != nil {
		c.lost(s, err)
		return false
	}
	return true
}

// completions takes wake-ups and the ends of pushes and of queue pairs.
func (c *core) completions() bool {
	worked := false
	for _, p := range c.ports {
		if c.completionsOf(p) {
			worked = true
		}
	}
	return worked
}

func (c *core) completionsOf(p *port) bool {
	comps := p.Take()
	for i := range comps {
		comp := &comps[i]
		s := c.sessions.Of(comp.ID)
		switch {
		case s == nil:
		case comp.Status != fabric.StatusOK:
			c.lost(s, endpoint.Reason(s.qp, comp))
		case comp.Op == fabric.OpRecv:
			if c.postReceive(s) {
				c.unpark(s)
			}
		}
	}
	return len(comps) != 0
}
