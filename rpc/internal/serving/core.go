package serving

import (
	"fmt"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/affinity"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

const (
	// IdleSteps is how often a core looks in vain before its waiter decides how to go on.
	IdleSteps = 256
	// LookEvery is the number of sweeps per look at everything that is not a request.
	LookEvery = 8
	// TickEvery is in how many sweeps there is one look at the clock.
	TickEvery = 32
	// ParkEvery is in how many sweeps there is one look for idle sessions.
	ParkEvery = 1 << 12
	// ParkAfter is how many sweeps without a request make a session idle.
	ParkAfter = 1 << 14
)

// Core is the common part of the cores of all paths. A path embeds it and calls Init.
type Core struct {
	Loop
	Clients
	Index int
	Clock fabric.Clock
	// Call is what handlers are given; Tick keeps its time.
	Call rpc.Call
	// Handling says that a handler is being called, and Panic is the error of a call whose handler
	// panicked (Catch).
	Handling bool
	Panic    error
	// Sweep counts looks at all requests.
	Sweep uint64
	// Calls counts requests, Failures those that failed, and Panics those whose handler panicked.
	Calls, Failures, Panics atomic.Uint64

	acceptor *Acceptor
	reserved atomic.Int64
}

// Init makes a core ready. A core that no host drives needs a waiter, too.
func (c *Core) Init(a *Acceptor, index int) {
	c.acceptor, c.Index, c.Clock = a, index, a.cfg.Devices[0].Clock()
	c.Log = a.cfg.Log.With("core", index)
	c.Call.Core = index
	var wakeHost func()
	if wake := a.cfg.Wake; wake != nil {
		wakeHost = func() { wake(index) }
	}
	c.Loop.Init(wakeHost)
	c.Tick()
}

// InitWaiter makes the waiter of a core, at a completion queue of the first device, unless a
// host drives the core.
func (c *Core) InitWaiter(cq fabric.CQ, p rpc.Poller) (err error) {
	if cfg := c.acceptor.cfg; cfg.Wake == nil {
		w := fabric.WaitConfig{Policy: cfg.Policy, CQs: []fabric.CQ{cq}, BeforeSleep: p.BeforeSleep, AfterSleep: p.AfterSleep}
		c.Waiter, err = cfg.Devices[0].NewWaiter(w)
	}
	return err
}

// Start runs the core on a goroutine of its own, on its CPU if there are CPUs.
func (c *Core) Start(m Moves) {
	cpus := c.acceptor.cfg.CPUs
	if len(cpus) == 0 {
		c.Loop.Start(m)
		return
	}
	c.started = true
	go func() {
		unpin, err := affinity.Pin(cpus[c.Index])
		if err != nil {
			c.Log.Warn("a core is not pinned", "cpu", cpus[c.Index], "err", err)
		} else {
			defer unpin()
		}
		c.Run(m)
	}()
}

// Tick looks at the clock for handlers, which need not know better when they are called
// than a few sweeps.
func (c *Core) Tick() { c.Call.Now = c.Clock.Now() }

// AddUp adds the counts of the core to t.
func (c *Core) AddUp(t *rpc.ServerStats) {
	t.Calls += c.Calls.Load()
	t.Failures += c.Failures.Load()
	t.Panics += c.Panics.Load()
	c.Clients.AddUp(t)
}

// Reserve makes sure of room for one more client. A client that is refused takes no room
// meanwhile, which another one might find missing.
func (c *Core) Reserve() error {
	for {
		n := c.reserved.Load()
		if n >= c.acceptor.MaxClients() {
			return fmt.Errorf("core %d has its %d clients already", c.Index, n)
		}
		if c.reserved.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// Unreserve gives back the room of a client.
func (c *Core) Unreserve() { c.reserved.Add(-1) }

// Reserved returns how many clients there are, with those that are being admitted.
func (c *Core) Reserved() int { return int(c.reserved.Load()) }

// Choose reserves a place for a client on the core that it wants. A client that wants
// wire.AnyCore is refused only when all cores are full.
func Choose[C interface{ Reserve() error }](a *Acceptor, cores []C, wish uint16) (C, error) {
	n := uint64(len(cores))
	if wish != wire.AnyCore {
		if uint64(wish) >= n {
			var none C
			return none, fmt.Errorf("core %d wanted, there are %d", wish, n)
		}
		return cores[wish], cores[wish].Reserve()
	}
	first := a.next.Add(1)
	c := cores[first%n]
	err := c.Reserve()
	for i := uint64(1); err != nil && i < n; i++ {
		c = cores[(first+i)%n]
		err = c.Reserve()
	}
	return c, err
}

// Connect makes a session on the core that a client wants: connect makes the session and its
// queue pair, and the core enters it.
func Connect[C interface {
	Runner
	Reserve() error
	Unreserve()
	Post(func())
	Enter(S)
}, S any](s *Server[C, S], wish uint16, connect func(C) (S, error),
) error {
	c, err := Choose(s.Acceptor, s.Cores, wish)
	if err != nil {
		return err
	}
	session, err := connect(c)
	if err != nil {
		c.Unreserve()
		return err
	}
	c.Post(func() { c.Enter(session) })
	return nil
}
