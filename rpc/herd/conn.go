package herd

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

// ErrNoAnswer ends a connection whose server did not reply to a request despite retries.
// Requests without a result may have been served or not.
var ErrNoAnswer = errors.New("herd: no answer")

// ConnConfig describes a connection. Zero values mean the defaults.
type ConnConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Window is how many requests can be in flight to each core; default 4, at most
	// 64. The server may allow less: Conn.Window says how many it is. Dial fails if
	// the device has too few receives: one or two per request, over all cores.
	Window int
	// First and Count select the cores First to First+Count-1. Count 0 is all from First
	// on; so the default is all cores.
	First, Count int
	// SlotSize is the longest slot, and so what a message may be; default 1024. The
	// server may allow less: Conn.MaxMessage says how long it is.
	SlotSize int
	// RetryAfter is how long a reply may take before its request is sent again;
	// default 2 ms. It doubles each time up to 32 times as much. GiveUp is how long a
	// request is tried; default 10 s. Time in which the program neither polls nor waits does not count,
	// so that a process that was stopped tries again first.
	RetryAfter, GiveUp time.Duration
	// Policy says whether a client that waits may sleep; the default does.
	Policy fabric.Policy
	// NoInline and SignalAll turn optimizations off, to measure what they bring.
	NoInline, SignalAll bool
}

func (c *ConnConfig) setDefaults() {
	c.Window = cmp.Or(c.Window, 4)
	c.SlotSize = cmp.Or(c.SlotSize, defaultSlot)
	if c.RetryAfter == 0 {
		c.RetryAfter = 2 * time.Millisecond
	}
	if c.GiveUp == 0 {
		c.GiveUp = 10 * time.Second
	}
}

func (c *ConnConfig) validate() error {
	err := errors.Join(
		serving.Between("Window", c.Window, 1, maxWindow),
		serving.Between("First", c.First, 0, maxCores-1),
		serving.Between("Count", c.Count, 0, maxCores),
		serving.Between("SlotSize", c.SlotSize, minSlot, maxSlot),
	)
	if c.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if c.RetryAfter < 0 || c.GiveUp < 0 {
		err = errors.Join(err, fmt.Errorf("RetryAfter is %v, GiveUp %v", c.RetryAfter, c.GiveUp))
	}
	if err != nil {
		return fmt.Errorf("herd: connection: %w", err)
	}
	return nil
}

// Conn is a connection with cores of a server, a CoreConn for each. With these it
// belongs to one goroutine at a time.
type Conn struct {
	cfg     ConnConfig
	end     endpoint.Endpoint // whose queue pair is UC
	ud      fabric.QP
	ucq, cq fabric.CQ // of the UC queue pair; of ud
	waiter  fabric.Waiter
	local   *fabric.Region
	welcome welcome
	inline  int

	coreConns []CoreConn
	ready     int // CoreConns whose next result is there
	calls     int // requests without a result that was taken
	polls     uint64
	sender    sender
	inbox     inbox

	stats connStats
	comps [16]fabric.Completion // of ud
	acks  [16]fabric.Completion // of ucq, which may be taken while comps are read
	pollf func() bool           // polls all queues
}

// Dial connects to a server. ctx bounds the attempt.
func Dial(ctx context.Context, addr fabric.Addr, cfg ConnConfig) (*Conn, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg}
	err := Supports(cfg.Device)
	if err == nil {
		err = c.dial(ctx, addr)
	}
	if err != nil {
		_ = c.Close()
		return nil, endpoint.DialError("herd", addr, err)
	}
	return c, nil
}

func (c *Conn) dial(ctx context.Context, addr fabric.Addr) (err error) {
	if err = c.end.Open("herd", c.cfg.Device); err != nil {
		return err
	}
	depth := min(sendDepth, c.end.Dev.Limits().MaxDepth)
	if c.ucq, err = c.end.NewCQ(depth + 1); err != nil {
		return err
	}
	lim := c.end.Dev.Limits()
	h := hello{window: c.cfg.Window, slot: min(c.cfg.SlotSize, lim.MTU), first: c.cfg.First, count: c.cfg.Count, proof: !lim.InOrder}
	err = c.end.Dial(ctx, addr, fabric.QPConfig{
		Transport: fabric.UC, SendCQ: c.ucq, RecvCQ: c.ucq, SendDepth: depth, RecvDepth: 1, MaxSegs: 1,
	}, h.bytes())
	if err != nil {
		return err
	}
	if c.welcome, err = parseWelcome(c.end.QP.PeerPrivate(), &h); err != nil {
		return err
	}
	c.sender.depth = uint64(depth)
	if err = c.prepare(); err == nil {
		err = c.introduce(ctx)
	}
	return err
}

// prepare makes everything that depends on what the server allows. The local memory is
// images of all slots, a control for each core and one more, and the receives.
func (c *Conn) prepare() (err error) {
	w := &c.welcome
	controlsAt := w.requestBytes()
	receivesAt := controlsAt + roundUp((w.cores+1)*controlSize, lineSize)
	if err = c.inbox.init(receivesAt, &w.dimensions, c.end.Dev.Limits().MaxDepth); err != nil {
		return err
	}
	if c.local, err = c.end.Alloc("herd client", receivesAt+c.inbox.bytes(), 0); err != nil {
		return err
	}
	if c.cq, err = c.end.NewCQ(c.inbox.count + 1); err != nil {
		return err
	}
	c.ud, err = c.end.NewUD(fabric.QPConfig{
		Transport: fabric.UD, SendCQ: c.cq, RecvCQ: c.cq, SendDepth: 1, RecvDepth: c.inbox.count,
		MaxSegs: 1, MaxInline: fabric.NoInline,
	})
	if err != nil {
		return err
	}
	if !c.cfg.NoInline {
		c.inline = c.end.Dev.Limits().MaxInline
	}
	c.coreConns = make([]CoreConn, w.cores)
	for i := range c.coreConns {
		c.coreConns[i].init(c, w.first+i, controlsAt+i*controlSize)
	}
	c.pollf = c.pollAll
	c.waiter, err = c.end.NewWaiter(fabric.WaitConfig{Policy: c.cfg.Policy, CQs: []fabric.CQ{c.cq, c.ucq}})
	if err != nil {
		return err
	}
	// No peer sends here: it completes when the queue pair breaks, and wakes the client that waits.
	if _, err = c.end.QP.PostRecv([]fabric.RecvWR{{ID: recvID}}); err != nil {
		return err
	}
	for i := range c.inbox.count {
		c.postReceive(i)
	}
	return c.end.Err
}

// introduce tells the server where replies go, until all cores have welcomed us.
func (c *Conn) introduce(ctx context.Context) error {
	at := c.coreConns[0].controlAt + len(c.coreConns)*controlSize
	address := c.ud.Address()
	if address == nil {
		return fmt.Errorf("datagram queue pair has no address: %w", c.ud.Err())
	}
	n := putIntroduction(c.local.Bytes()[at:at+controlSize], address)
	welcomed := func() bool { return c.pollAll() || c.missing() == 0 }
	for pause := introducePause; c.missing() != 0; pause = min(2*pause, maxIntroducePause) {
		if c.sender.reusable(c, c.sender.control) {
			c.sender.control = c.send(at, n)
		}
		c.waiter.Wait(welcomed, pause)
		switch {
		case c.end.Err != nil:
			return c.end.Err
		case ctx.Err() != nil:
			return fmt.Errorf("%d of %d cores did not answer: %w", c.missing(), len(c.coreConns), context.Cause(ctx))
		}
	}
	return nil
}

const (
	introducePause    = time.Millisecond
	maxIntroducePause = 50 * time.Millisecond
)

// missing returns how many cores have not welcomed us.
func (c *Conn) missing() (n int) {
	for i := range c.coreConns {
		if !c.coreConns[i].welcomed {
			n++
		}
	}
	return n
}

// Cores returns how many cores the server has.
func (c *Conn) Cores() int { return c.welcome.total }

// CoreConn returns the connection with a core. A core without one (ConnConfig.First) panics.
func (c *Conn) CoreConn(core int) *CoreConn { return &c.coreConns[core-c.welcome.first] }

// Window returns how many requests can be in flight to each core.
func (c *Conn) Window() int { return c.welcome.window }

// MaxMessage returns the longest request and the longest result.
func (c *Conn) MaxMessage() int { return c.welcome.message() }

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error { return c.end.Err }

// Outstanding returns how many requests have a result that was not taken.
func (c *Conn) Outstanding() int { return c.calls }

// Counters returns what the queue pairs have done.
func (c *Conn) Counters() fabric.Counters {
	n, ud := c.end.QP.Counters(), c.ud.Counters()
	n.Add(&ud)
	return n
}

// Close ends the connection; calls without a result have failed. A second Close
// returns rpc.ErrClosed.
func (c *Conn) Close() error { return c.end.Close() }
