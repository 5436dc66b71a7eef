package sendrecv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// AnyCore as ConnConfig.Core leaves the choice to the server.
const AnyCore = -1

// ConnConfig describes a connection. Zero values mean the defaults.
type ConnConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Core is the core of the server to connect to, or AnyCore.
	Core int
	// Window is how many requests can be in flight; default 4, at most 1024. The
	// server may allow less: Conn.Window says how many it is.
	Window int
	// MaxMessage is the longest request or result; default 1024. The server may allow
	// less: Conn.MaxMessage says how long it is.
	MaxMessage int
	// Policy says whether a client that waits may sleep; the default does.
	Policy fabric.Policy
	// NoInline and SignalAll turn optimizations off, to measure what they bring.
	NoInline, SignalAll bool
}

func (c *ConnConfig) setDefaults() {
	c.Window = cmp.Or(c.Window, 4)
	c.MaxMessage = cmp.Or(c.MaxMessage, defaultMessage)
}

func (c *ConnConfig) validate() error {
	err := errors.Join(
		serving.Between("Core", c.Core, AnyCore, maxCores-1),
		serving.Between("Window", c.Window, 1, maxWindow),
		serving.Between("MaxMessage", c.MaxMessage, minMessage, maxMessage),
	)
	if c.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if err != nil {
		return fmt.Errorf("sendrecv: connection: %w", err)
	}
	return nil
}

// Conn is a connection with one core of a server. It belongs to one goroutine at a time.
// Requests are served, and their results taken, in the order in which they were sent.
type Conn struct {
	cfg     ConnConfig
	end     endpoint.Endpoint
	cq      fabric.CQ
	waiter  fabric.Waiter
	local   *fabric.Region // places of receives, and of requests
	mem     []byte         // its bytes
	welcome welcome
	inline  int
	every   uint64 // in how many SENDs one is signaled
	ready   bool   // the server has posted its receives

	// Requests: sent, with a reply that came, with one that was taken.
	sent, arrived, taken uint64
	requests             []int   // lengths of messages, by place
	replies              []reply // by place
	reserved             int     // length of the message being filled, -1 when there is none
	held                 bool    // the program has the result that was taken last
	posted, done         uint64  // SENDs, and those known to be complete

	stats connStats
	comps [16]fabric.Completion
	one   [1]fabric.WR
	recv  [1]fabric.RecvWR
	pollf func() bool
	freef func() bool
}

// reply is one that came.
type reply struct {
	size   int // of the result
	failed bool
}

// Dial connects to a server. ctx bounds the attempt.
func Dial(ctx context.Context, addr fabric.Addr, cfg ConnConfig) (*Conn, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, reserved: -1}
	c.pollf, c.freef = c.Poll, c.settled
	if err := c.dial(ctx, addr); err != nil {
		_ = c.Close()
		return nil, endpoint.DialError("sendrecv", addr, err)
	}
	return c, nil
}

func (c *Conn) dial(ctx context.Context, addr fabric.Addr) (err error) {
	if err = c.end.Open("sendrecv", c.cfg.Device); err != nil {
		return err
	}
	h := hello{core: anyCore, dimensions: dimensions{c.cfg.Window, c.cfg.MaxMessage}}
	if c.cfg.Core != AnyCore {
		h.core = uint16(c.cfg.Core)
	}
	if c.cq, err = c.end.NewCQ(h.sendDepth() + h.receives()); err != nil {
		return err
	}
	c.waiter, err = c.end.NewWaiter(fabric.WaitConfig{Policy: c.cfg.Policy, CQs: []fabric.CQ{c.cq}})
	if err != nil {
		return err
	}
	err = c.end.Dial(ctx, addr, fabric.QPConfig{
		Transport: fabric.RC, SendCQ: c.cq, RecvCQ: c.cq,
		SendDepth: h.sendDepth(), RecvDepth: h.receives(), RNRTimeout: defaultReceiveWait, MaxSegs: 1,
	}, h.bytes())
	if err != nil {
		return err
	}
	if c.welcome, err = parseWelcome(c.end.QP.PeerPrivate(), &h); err != nil {
		return err
	}
	if err = c.prepare(); err != nil {
		return err
	}
	return c.awaitReady(ctx)
}

// prepare makes everything that depends on what the server allows, and posts receives.
func (c *Conn) prepare() (err error) {
	w := &c.welcome
	if c.local, err = c.end.Alloc("sendrecv client", w.dimensions.bytes(), 0); err != nil {
		return err
	}
	c.mem = c.local.Bytes()
	c.requests, c.replies = make([]int, w.window), make([]reply, w.receives())
	if !c.cfg.NoInline {
		c.inline = c.end.Dev.Limits().MaxInline
	}
	if c.every = uint64(w.signalEvery()); c.cfg.SignalAll {
		c.every = 1
	}
	for n := range uint64(w.receives()) {
		c.postReceive(n)
	}
	return c.end.Err
}

// awaitReady waits until the server has posted its receives (S1).
func (c *Conn) awaitReady(ctx context.Context) error {
	isReady := func() bool { return c.Poll() || c.ready }
	for !isReady() {
		if ctx.Err() != nil {
			return fmt.Errorf("core %d is not ready: %w", c.welcome.core, context.Cause(ctx))
		}
		c.waiter.Wait(isReady, readyWait)
	}
	return c.end.Err
}

// readyWait is how long Dial waits without a look at its context.
const readyWait = 10 * time.Millisecond

// Core returns the core that the connection is with, Cores how many the server has.
func (c *Conn) Core() int { return c.welcome.core }

// Cores returns how many cores the server has.
func (c *Conn) Cores() int { return c.welcome.cores }

// Window returns how many requests can be in flight.
func (c *Conn) Window() int { return c.welcome.window }

// MaxMessage returns the longest request and the longest result.
func (c *Conn) MaxMessage() int { return c.welcome.message }

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error { return c.end.Err }

// Outstanding returns how many requests have a result that was not taken.
func (c *Conn) Outstanding() int { return int(c.sent - c.taken) }

// Counters returns what the queue pair has done.
func (c *Conn) Counters() fabric.Counters { return c.end.QP.Counters() }

// Disconnect has the connection end, which its goroutine notices when it polls. It may be
// called from any goroutine.
func (c *Conn) Disconnect() { _ = c.end.QP.Disconnect() }

// Close ends the connection; calls without a result have failed. A second Close
// returns rpc.ErrClosed.
func (c *Conn) Close() error { return c.end.Close() }
