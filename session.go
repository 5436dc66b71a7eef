package remora

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// ErrWindowFull says that the core of this key has as many operations of the
// session on their way as it may have, or one that this one has to follow: take
// results with Next, then start again.
var ErrWindowFull = errors.New("remora: the window is full: take results first")

// ErrPending says that this cannot be done while results of started operations
// have not been taken.
var ErrPending = errors.New("remora: take the results of all started operations first")

// ErrIdle says that there is no operation whose result could be waited for.
var ErrIdle = errors.New("remora: nothing was started")

// Session is a client's way to a server for one goroutine that wants the lowest
// latency, or many operations on their way. It has a connection of its own with
// every core, which costs the server memory and a look into it: a program has
// sessions for its few busiest goroutines, and the others use the client.
//
// There are two ways to use it, not at the same time. Get, Put and the others are
// those of Client. StartGet, StartPut and so on return at once, and Next returns
// results: those of one core in the order of the starts, those of different cores
// in any order. Operations on one key are on one core.
//
// Operations on one key happen in the order of the starts, so a get sees every change
// that the session started before it and none that it started after. So do operations
// on different keys of one core, with two exceptions. On PathHerd and PathSendRecv a get of
// a value too long for them is repeated by rfp, when operations on other keys that were started
// after it may have happened. And a get by a link that leads nowhere any more is asked for
// when gets of other keys by links, started after it, have been read; so is a get on the paths
// that search whose item could not be proven, after gets of any key. A change of a key
// whose get has no result yet, on PathHerd and PathSendRecv, and an operation that takes another
// way than those before it is refused with ErrWindowFull.
//
// A session belongs to one goroutine at a time, Close included.
type Session struct {
	dialer
	client  *Client
	cfg     config
	welcome *command.Welcome
	seed    store.Seed
	lanes   []sessionLane
	pending int // started operations without a result
	at      int // lane to look at first
	direct  int // longest message that is written into a frame in place
	scratch []byte
	hash    uint64 // of the key of the present operation
	hashes  bool   // it is of use
	closed  bool

	fault   fault // of the present synchronous operation
	renew   bool  // the server refused an operation: all connections are made anew
	outage  sessionOutage
	since   int64 // when the last connection was made, on the device's clock
	backoff backoff.Pauses

	reconnects, retries uint64
	past                Counters
}

// sessionLane is a connection with one core.
type sessionLane struct {
	conn  *coreConn
	stale int // results that nobody waits for any more, before all others
	// ring of the started operations
	calls        []started
	first, count int
	// filling operations were started since the connection had sent mark frames, if
	// batches are of more than one.
	filling int
	mark    uint64
}

// started is an operation without a result.
type started struct {
	tag uint64
	op  command.Proc
}

// Session makes a session. Its options are those of the client, unless others are
// given; the batch is 1.
func (c *Client) Session(ctx context.Context, opts ...Option) (*Session, error) {
	cfg := c.cfg
	cfg.batch = 1
	cfg, err := cfg.apply(opts)
	if err != nil {
		return nil, err
	}
	if cfg.path.short() {
		cfg.batch = 1 // each operation is a request of its own
	}
	if cfg.settle(c.addr.Fabric); cfg.habitual && cfg.batch > 1 {
		cfg.links = 0 // operations do not come one at a time
	}
	if cfg.clientOnly != "" {
		return nil, fmt.Errorf("%w: %s is an option of clients", ErrInvalid, cfg.clientOnly)
	}
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.holders.join()
	c.mu.Unlock()
	s := &Session{
		dialer: c.dialer, client: c, cfg: cfg, hashes: cfg.hashes(), direct: defaultDirect, since: c.clock.Now(), backoff: cfg.backoff(),
	}
	if err := s.connectLanes(ctx, nil, nil); err != nil {
		_ = c.holders.leave()
		return nil, s.dialError(err)
	}
	return s, nil
}

// connectLanes makes all connections.
func (s *Session) connectLanes(ctx context.Context, first *coreConn, w *command.Welcome) error {
	conns, w, err := s.connectAll(ctx, &s.cfg, first, w)
	if err != nil {
		return err
	}
	s.dropAll()
	s.welcome, s.seed, s.at, s.lanes = w, store.Seed(w.Seed), 0, make([]sessionLane, len(conns))
	for i, conn := range conns {
		s.lanes[i].conn = conn
		s.lanes[i].calls = make([]started, conn.rfp.Window()*conn.rfp.Batch())
		conn.inOrder()
	}
	return nil
}

// dropAll closes all connections.
func (s *Session) dropAll() {
	for i := range s.lanes {
		s.dropLane(&s.lanes[i])
	}
}

// dropLane closes a connection and keeps its counts.
func (s *Session) dropLane(ln *sessionLane) {
	if ln.conn != nil {
		_ = ln.conn.Close()
		s.past.add(ln.conn)
		ln.conn, ln.stale, ln.filling = nil, 0, 0
	}
}

// Close ends the connections of the session. What was started and has no result
// may have happened or not. A second Close returns ErrClosed.
func (s *Session) Close() error {
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	s.dropAll()
	for i := range s.lanes {
		s.lanes[i].count = 0
	}
	s.pending = 0
	return s.client.holders.leave()
}

// Counters returns what the session has done. It belongs to the goroutine of the
// session.
func (s *Session) Counters() Counters {
	n := s.past
	for i := range s.lanes {
		if conn := s.lanes[i].conn; conn != nil {
			n.add(conn)
		}
	}
	n.Reconnects, n.Retries = s.reconnects, s.retries
	return n
}

// laneOf returns the connection with the core that has the key, and notes its hash
// where that is of use.
func (s *Session) laneOf(key string) *sessionLane {
	if len(s.lanes) == 1 && !s.hashes {
		if conn := s.lanes[0].conn; conn == nil || conn.sight == nil || !conn.sight.wantsHash() {
			return &s.lanes[0]
		}
	}
	s.hash = s.seed.HashString(key)
	return &s.lanes[store.PartitionOf(s.hash, len(s.lanes))]
}

// over reports whether the session or its client was closed.
func (s *Session) over() bool { return s.closed || s.client.closed.Load() }

// class is what all operations on keys are to the path below: they take about the
// same time, and a batch may mix them.
const class = uint8(command.Get)

// defaultDirect is the longest message that fits a frame of the usual size.
const defaultDirect = 2000

// reserve returns room for a message of n bytes behind the procedure's number;
// flat says that it is in memory of the session and has to be sent by send.
func (s *Session) reserve(ln *sessionLane, op command.Proc, n int) (b []byte, flat bool, err error) {
	s.beginFrame(ln)
	n += rpc.ProcSize
	if n <= s.direct {
		if b, err = ln.conn.reserve(op, s.hash, n); err == nil {
			b[0], b[1] = byte(op), byte(op>>8)
			return b[:rpc.ProcSize], false, nil
		}
		if !errors.Is(err, rpc.ErrTooLarge) {
			return nil, false, err
		}
		s.direct = n - 1 // frames of this server are smaller
	}
	return append(s.scratch[:0], byte(op), byte(op>>8)), true, nil
}

// beginFrame notes what was sent before the operations that fill a batch.
func (s *Session) beginFrame(ln *sessionLane) {
	if s.cfg.batch > 1 && ln.filling == 0 {
		ln.mark = ln.conn.rfp.Frames()
	}
}

// commit ends the message that reserve began. One that is flat goes on with body.
func (s *Session) commit(ln *sessionLane, op command.Proc, b, body []byte, flat bool) error {
	if !flat {
		return ln.conn.commit(op, s.hash)
	}
	err := ln.conn.sendLong(op, s.hash, b, body)
	if s.scratch = b; cap(b) > keepRequest {
		s.scratch = nil
	}
	return err
}

// sendError is the error of an operation that could not be sent.
func (s *Session) sendError(ln *sessionLane, op command.Proc, err error) error {
	switch {
	case errors.Is(err, rpc.ErrWindowFull):
		return ErrWindowFull
	case errors.Is(err, rpc.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if e, ok := callFailed(err); ok {
		return failure(op, e) // a chase, where there are no links
	}
	if s.fault = faultUnsent; ln.count == 0 {
		s.broken(ln, err)
	}
	return s.lost(op, false, err)
}

// nap bounds how long a session waits without a look at its context.
const nap = time.Millisecond
