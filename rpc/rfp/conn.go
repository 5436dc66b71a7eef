package rfp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
)

// AnyCore as ConnConfig.Core leaves the choice to the server.
const AnyCore = -1

// ConnConfig describes a connection. Zero values mean the defaults.
type ConnConfig struct {
	// Device is where the connection is made. It stays the caller's to close.
	Device fabric.Device
	// Core is the core of the server to connect to, or AnyCore. The zero value is core 0: clients
	// that are to share the cores of a server say AnyCore.
	Core int
	// Window is how many request frames can be in flight, and Payload how many bytes a
	// frame can hold; defaults 8 and 2048. The server may allow less.
	Window, Payload int
	// Batch is how many messages make a frame; default 1, which sends every
	// message at once. A frame is also sent when FlushBytes are in it (default:
	// what a frame can hold), or FlushAfter its first message (default 5 ms) when
	// the program polls.
	Batch      int
	FlushBytes int
	FlushAfter time.Duration
	// AutoBatch, when not nil, lets the connection choose Batch, which is what
	// it begins with; AutoTune lets it choose Retries and FetchSize.
	AutoBatch *AutoBatch
	AutoTune  *AutoTune
	// Bulk is how many bytes the connection would like for pieces of long requests; default
	// 256 KiB, negative is none. The server may allow less, and has up to seven times as many
	// for pieces of long results. The client's own part is made when it is first needed.
	Bulk int
	// Policy says whether a client that expects a reply may sleep; the default
	// does.
	Policy fabric.Policy
	// NoInline and SignalAll turn optimizations off, to measure what they bring.
	NoInline, SignalAll bool
	Params
}

func (c *ConnConfig) setDefaults() {
	c.Window = cmp.Or(c.Window, 8)
	c.Payload = cmp.Or(c.Payload, defaultPayload)
	c.Batch = cmp.Or(c.Batch, 1)
	c.FlushBytes = cmp.Or(c.FlushBytes, maxPayload)
	c.Bulk = cmp.Or(c.Bulk, defaultBulk)
	if c.FlushAfter == 0 {
		c.FlushAfter = 5 * time.Millisecond
	}
	c.Params.setDefaults()
}

func (c *ConnConfig) validate() error {
	err := errors.Join(
		c.Params.validate(),
		serving.Between("Core", c.Core, AnyCore, maxCores),
		serving.Between("Window", c.Window, 1, maxRing),
		serving.Between("Payload", c.Payload, minPayload, maxPayload),
		serving.Between("Batch", c.Batch, 1, wire.MaxEntries),
		serving.Between("Bulk", c.Bulk, -1, maxBulk),
		serving.Between("FlushBytes", c.FlushBytes, 1, maxPayload),
	)
	if c.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if c.AutoBatch != nil {
		err = errors.Join(err, c.AutoBatch.validate())
	}
	if c.FlushAfter < 0 {
		err = errors.Join(err, fmt.Errorf("FlushAfter is %v", c.FlushAfter))
	}
	if err != nil {
		return fmt.Errorf("rfp: connection: %w", err)
	}
	return nil
}

// Conn is a connection to one core of a server. It belongs to one goroutine at a
// time. Messages are answered in the order in which they were sent.
type Conn struct {
	cfg ConnConfig
	end endpoint.Endpoint
	cq  fabric.CQ
	// spinner waits for READs that this side posts, sleeper for pushes, and
	// drowsy for those that take long: it spins just long enough to look whether the server is
	// on the same CPU.
	spinner, sleeper, drowsy fabric.Waiter
	local, replies           *fabric.Region
	welcome                  wire.Welcome
	reqs, answers            fabric.Remote
	rings                    rings
	inline                   int

	// The frame being filled has number; answered are those whose answers have
	// been taken whole.
	number, answered  uint64
	sendSlot, oldSlot int    // of the frame being filled, and of the oldest without an answer
	frame             []byte // the payload of the frame being filled
	fill, entries     int
	class             uint8
	opened            int64 // when Poll first found it waiting for more messages
	sent              []sentFrame
	writes            []fabric.WR // by slot
	calls             int         // messages without a result
	unreported        int         // WRITEs since the last signaled one

	receiver
	parts
	bulk  bulk
	areas clientAreas
	adaptive
	policy fetchPolicy

	stats   connStats
	comps   [16]fabric.Completion
	one     [1]fabric.WR     // being posted
	receive [1]fabric.RecvWR // likewise
	pollf   func() bool      // Poll
	newsf   func() bool      // pollNews
}

// minResults is the least ring for results.
const minResults = 8

// sentFrame is a request frame without its answer.
type sentFrame struct {
	results int // that have not come yet
	class   uint8
	taken   uint64 // result frames that it said to be taken
	bulkEnd uint64 // of the area for pieces up to this frame
}

// Dial connects to a server. ctx bounds the attempt.
func Dial(ctx context.Context, addr fabric.Addr, cfg ConnConfig) (*Conn, error) {
	cfg.setDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &Conn{cfg: cfg, number: 1}
	if err := c.dial(ctx, addr); err != nil {
		_ = c.Close()
		return nil, endpoint.DialError("rfp", addr, err)
	}
	return c, nil
}

func (c *Conn) dial(ctx context.Context, addr fabric.Addr) (err error) {
	if err = c.end.Open("rfp", c.cfg.Device); err != nil {
		return err
	}
	want := rings{window: c.cfg.Window, results: max(2*c.cfg.Window, minResults), payload: c.cfg.Payload}
	if c.replies, err = c.end.Alloc("rfp replies", want.resultBytes(), fabric.RemoteWrite); err != nil {
		return err
	}
	depth := 4*want.window + 2*want.results + 16
	if c.cq, err = c.end.NewCQ(depth + receivesFor(want.results)); err != nil {
		return err
	}
	hello := wire.Hello{
		Core: uint16(c.cfg.Core), Window: uint16(want.window), Results: uint16(want.results),
		Payload: uint32(want.payload), Replies: placeOf(c.replies.Remote()), Bulk: uint32(max(c.cfg.Bulk, 0)),
		Proof: !c.end.Dev.Limits().InOrder,
	}
	err = c.end.Dial(ctx, addr, fabric.QPConfig{
		Transport: fabric.RC, SendCQ: c.cq, RecvCQ: c.cq,
		SendDepth: depth, RecvDepth: receivesFor(want.results), MaxSegs: 1,
		RNRTimeout: fabric.RNRForever, // a core that is busy is no reason to part
	}, hello.Append(nil))
	if err != nil {
		return err
	}
	c.bulk.placer, _ = c.end.QP.(fabric.Placer)
	c.bulk.viewer, _ = c.end.QP.(fabric.Viewer)
	if c.welcome, err = wire.ParseWelcome(c.end.QP.PeerPrivate()); err != nil {
		return err
	}
	c.end.Peer = fmt.Sprintf("core %d of %s", c.Core(), c.end.Peer)
	return c.prepare(&want)
}

// prepare makes everything that depends on what the server allows.
func (c *Conn) prepare(want *rings) (err error) {
	w := &c.welcome
	c.rings = rings{window: int(w.Window), results: int(w.Results), payload: int(w.Payload), bulk: int(w.Bulk), resultBulk: int(w.ResultBulk), proof: w.Proof}
	r := &c.rings
	if r.window < 1 || r.window > want.window || r.results < 2*r.window || r.results > want.results ||
		r.payload < minPayload || r.payload > want.payload || r.bulk < 0 || r.bulk > max(c.cfg.Bulk, 0) || r.bulk%(lineSize*piecesInArea) != 0 ||
		r.resultBulk < r.bulk || r.resultBulk > resultAreas*r.bulk || r.resultBulk%lineSize != 0 || w.MaxMessage < minMessage || w.MaxMessage > maxMessage {
		return fmt.Errorf("the server allows window %d, results %d, payload %d, areas of %d and %d bytes, messages of %d bytes: %w",
			r.window, r.results, r.payload, w.Bulk, w.ResultBulk, w.MaxMessage, rpc.ErrProtocol)
	}
	if dev := c.end.Dev; !r.proof && !dev.Limits().InOrder {
		return fmt.Errorf("the server does not prove its frames, and device %s does not promise their order: %w", dev.Name(), rpc.ErrProtocol)
	}
	c.reqs, c.answers = remoteOf(w.Requests), remoteOf(w.Answers)
	landing := r.window * r.requestStride()
	words := landing + r.resultBytes()
	if c.local, err = c.end.Alloc("rfp client", words+wordsBytes, 0); err != nil {
		return err
	}
	c.sent = make([]sentFrame, r.window)
	c.makeWrites()
	if !c.cfg.NoInline {
		c.inline = c.end.Dev.Limits().MaxInline
	}
	c.receiver.init(r, landing, words, c.local.Bytes(), c.replies.Bytes(), min(c.cfg.FetchSize, r.resultStride()))
	c.policy.init(&c.cfg.Params)
	c.makeReads()
	c.pollf, c.newsf = c.Poll, c.pollNews
	for _, p := range []struct {
		w      *fabric.Waiter
		policy fabric.Policy
		spin   time.Duration
	}{{&c.spinner, fabric.Busy, 0}, {&c.sleeper, c.cfg.Policy, 0}, {&c.drowsy, c.cfg.Policy, 4 * time.Microsecond}} {
		cfg := fabric.WaitConfig{Policy: p.policy, Spin: p.spin, CQs: []fabric.CQ{c.cq}, BeforeSleep: c.beforeSleep}
		if *p.w, err = c.end.NewWaiter(cfg); err != nil {
			return err
		}
	}
	for range receivesFor(r.results) {
		if err = c.postReceive(); err != nil {
			return err
		}
	}
	c.adapt()
	if err = c.tellChoice(); err == nil && c.cfg.Mode != Fetch {
		err = c.tellAllModes()
	}
	return err
}

// Cores returns how many cores the server has, and Core which one this is.
func (c *Conn) Cores() int { return int(c.welcome.Cores) }

// Core returns the core of the server that this connection is with.
func (c *Conn) Core() int { return int(c.welcome.Core) }

// Window returns how many request frames can be in flight.
func (c *Conn) Window() int { return c.rings.window }

// MaxMessage returns the longest message that the server takes or sends.
func (c *Conn) MaxMessage() int { return int(c.welcome.MaxMessage) }

// Err returns why the connection is over, nil while it is not.
func (c *Conn) Err() error { return c.end.Err }

// Frames returns how many frames were sent. It is cheaper than Stats.
func (c *Conn) Frames() uint64 { return c.stats.frames.Load() }

// Outstanding returns how many messages have no result yet.
func (c *Conn) Outstanding() int { return c.calls }

// Counters returns what the queue pair has done.
func (c *Conn) Counters() fabric.Counters { return c.end.QP.Counters() }

// Close ends the connection; calls without a result have failed. A second Close
// returns rpc.ErrClosed.
func (c *Conn) Close() error { return c.end.Close(c.bulk.stage, c.bulk.landing) }

// connStats are counts of a connection.
type connStats struct {
	calls, frames, fetches, misses, rests, replies, pieces, wakeups, switches atomic.Uint64
}

// ConnStats are counts since the connection was made. They may be read from any
// goroutine.
type ConnStats struct {
	Calls, Frames uint64 // messages and frames sent
	Fetches       uint64 // READs of answers
	Misses        uint64 // of them that found nothing
	Rests         uint64 // READs of the part that the first one did not bring
	Replies       uint64 // answers that were pushed
	Pieces        uint64 // of long results, that were taken
	Wakeups       uint64 // of the server
	Switches      uint64 // changes of mode
}

// Stats returns the counts.
func (c *Conn) Stats() ConnStats {
	s := &c.stats
	return ConnStats{
		Calls: s.calls.Load(), Frames: s.frames.Load(), Fetches: s.fetches.Load(), Misses: s.misses.Load(),
		Rests: s.rests.Load(), Replies: s.replies.Load(), Pieces: s.pieces.Load(), Wakeups: s.wakeups.Load(), Switches: s.switches.Load(),
	}
}
