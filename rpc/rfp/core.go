package rfp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// core serves its sessions, one message at a time.
type core struct {
	server *Server
	index  int
	clock  fabric.Clock
	ports  []*port // by device
	dozing bool    // the queues of all but the first are handed over
	guests party
	alone  int // looks at the guests since they had work
	stop   atomic.Bool
	done   chan struct{}

	sessions []*session // by tag
	hot      []*session // whose requests are looked for
	slow     []*session // with frames that wait for room, or pushes for a place
	sweep    uint64     // looks at all of hot so far
	nextID   uint32

	// For long messages: buffers, and waiting for a client to take pieces.
	spares     spares
	joined     []byte
	entry      [pieceEntry]byte
	linger     fabric.Waiter
	lingerf    func() bool
	lingerFor  *session
	lingerSize int
	lingerPart int

	in      []byte // the request frame being served: a copy
	batch   [ExpectMost][]byte
	told    int // messages of it that Expect was told of
	whole   int // of them, how many come before the first that is only a part
	results Results
	out     []byte // payload of the result frame being filled
	fill    int
	start   int64 // when the frame being served was noticed; 0: not measured
	pushAll bool  // the answer being made is pushed in any case
	call    rpc.Call
	one     [1]fabric.WR     // being posted
	bell    [1]fabric.RecvWR // likewise
	pollf   func() bool

	attention atomic.Bool // inbox or control is not empty
	mu        sync.Mutex
	inbox     []*session
	control   []func()
	reserved  int

	stats coreStats
}

func newCore(s *Server, index int) (*core, error) {
	cfg := &s.cfg
	c := &core{server: s, index: index, clock: cfg.Device.Clock(), done: make(chan struct{})}
	if len(cfg.Guests) != 0 {
		c.guests = cfg.Guests[index]
	}
	c.in, c.out = make([]byte, 8+cfg.Payload), make([]byte, cfg.Payload)
	for i, dev := range cfg.devices() {
		wait := fabric.WaitConfig{Doze: c.doze, Undoze: c.undoze}
		if i != 0 {
			wait = fabric.WaitConfig{Spin: time.Nanosecond} // the core has spun already
		}
		p, err := newPort(c, dev, wait)
		if err != nil {
			c.free()
			return nil, err
		}
		if c.ports = append(c.ports, p); i != 0 {
			p.lookOut(c.ports[0].waiter.Wake)
		}
	}
	var err error
	if c.linger, err = cfg.Device.NewWaiter(fabric.WaitConfig{Policy: fabric.Busy}); err != nil {
		c.free()
		return nil, fmt.Errorf("rfp: core %d: %w", index, err)
	}
	c.pollf, c.lingerf = c.poll, c.roomCame
	c.tick()
	return c, nil
}

// reserve makes sure of room for one more client.
func (c *core) reserve() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if int64(c.reserved) >= c.server.maxClients.Load() {
		return fmt.Errorf("core %d has its %d clients already", c.index, c.reserved)
	}
	c.reserved++
	return nil
}

func (c *core) unreserve() {
	c.mu.Lock()
	c.reserved--
	c.mu.Unlock()
}

// add hands a session over to the core.
func (c *core) add(s *session) {
	c.mu.Lock()
	c.inbox = append(c.inbox, s)
	c.mu.Unlock()
	c.wake()
}

func (c *core) wake() {
	c.attention.Store(true)
	c.ports[0].waiter.Wake()
}

// do has the core's goroutine call f, and waits for it.
func (c *core) do(f func()) {
	called := make(chan struct{})
	c.mu.Lock()
	c.control = append(c.control, func() { f(); close(called) })
	c.mu.Unlock()
	c.wake()
	select {
	case <-called:
	case <-c.done:
	}
}

func (c *core) close() {
	c.stop.Store(true)
	c.wake()
	<-c.done
}

// idleSteps is how often a core looks in vain before it lets its waiter decide
// how to go on.
const idleSteps = 256

// stalledNap bounds the sleep of a core that waits for a client to make room,
// which rings no bell.
const stalledNap = time.Millisecond

func (c *core) run() {
	defer close(c.done)
	for !c.stop.Load() {
		for idle := 0; idle < idleSteps && !c.stop.Load(); {
			if idle++; c.step() {
				idle = 0
			}
		}
		var nap time.Duration
		if len(c.slow) != 0 {
			nap = stalledNap
		}
		c.ports[0].waiter.Wait(c.pollf, nap)
	}
	c.attend()
	for _, s := range c.sessions {
		if s != nil {
			c.drop(s)
		}
	}
	c.guests.close()
	c.free()
}

// free gives back the queues.
func (c *core) free() {
	if c.linger != nil {
		_ = c.linger.Close()
	}
	for _, p := range c.ports {
		p.close()
	}
}

// tick looks at the clock for handlers, which need not know better when they are
// called than a few sweeps. It is 0 only when nobody has looked.
func (c *core) tick() { c.call.Now = c.clock.Now() }

// step looks at everything once, and reports whether there was work.
func (c *core) step() bool {
	worked := false
	for i := 0; i < len(c.hot); i++ {
		s := c.hot[i]
		if c.serve(s) {
			s.lastSeen, worked = c.sweep, true
		}
		if i < len(c.hot) && c.hot[i] != s {
			i-- // it was dropped, another took its place
		}
	}
	if len(c.guests) != 0 && (c.alone < aloneAfter || c.sweep%lookEvery == 0) {
		if c.alone++; c.guests.step() {
			c.alone, worked = 0, true
		} else if c.alone == aloneAfter && !c.guests.empty() {
			c.alone = 0
		}
	}
	if c.sweep++; c.sweep%tickEvery == 0 {
		c.tick()
	}
	if len(c.slow) != 0 && c.resume() {
		worked = true
	}
	if c.sweep%lookEvery == 0 && c.look() {
		worked = true
	}
	if c.sweep%parkEvery == 0 {
		c.parkIdle()
	}
	return worked
}

// lookEvery is in how many sweeps there is one look at what is not requests.
const lookEvery = 8

// aloneAfter is after how many looks in vain guests without clients are looked at as seldom.
const aloneAfter = 256

// tickEvery is in how many sweeps there is one look at the clock.
const tickEvery = 32

// look takes completions, new sessions and control functions.
func (c *core) look() bool {
	if c.attention.Load() {
		c.attend()
		return true
	}
	return c.completions()
}

// attend takes new sessions and control functions.
func (c *core) attend() {
	c.attention.Store(false)
	c.mu.Lock()
	inbox, control := c.inbox, c.control
	c.inbox, c.control = nil, nil
	c.mu.Unlock()
	for _, s := range inbox {
		c.enter(s)
	}
	for _, f := range control {
		f()
	}
}

// enter makes a session one of the core's.
func (c *core) enter(s *session) {
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
	c.stats.connects.Add(1)
	for range bells {
		if !c.postBell(s) {
			return
		}
	}
	c.heat(s)
}

// postBell posts a receive for a ring of the client.
func (c *core) postBell(s *session) bool {
	c.bell[0].ID = s.workID()
	if _, err := s.qp.PostRecv(c.bell[:]); err != nil {
		c.end(s, err)
		return false
	}
	return true
}

// workID names the session in completions.
func (s *session) workID() uint64 { return uint64(s.tag)<<32 | uint64(s.id) }

// of returns the session of a completion, or nil when it is gone.
func (c *core) of(id uint64) *session {
	if tag := id >> 32; tag < uint64(len(c.sessions)) {
		if s := c.sessions[tag]; s != nil && s.id == uint32(id) {
			return s
		}
	}
	return nil
}

// completions takes rings and the ends of pushes and of queue pairs.
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
	comps := p.poll()
	for i := range comps {
		comp := &comps[i]
		s := c.of(comp.ID)
		switch {
		case s == nil:
		case comp.Status != fabric.StatusOK:
			c.broken(s, comp)
		case comp.Op == fabric.OpRecv:
			if c.postBell(s) {
				c.unpark(s)
			}
		}
	}
	return len(comps) != 0
}
