package remora

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// The errors of sessions.
var (
	// ErrWindowFull: the core of this key has as many operations of the session in flight
	// as it allows, or one whose result must be taken before this one is sent. Take results
	// with Next, then start again.
	ErrWindowFull = errors.New("remora: the window is full: take results first")
	// ErrPending: there are started operations whose results were not taken.
	ErrPending = errors.New("remora: take the results of all started operations first")
	// ErrIdle: no operation was started.
	ErrIdle = errors.New("remora: no operation was started")
)

// Session reaches a server for one goroutine that needs the lowest latency, or many
// operations in flight. It has a connection of its own with every core, which costs the
// server memory and time to poll it: a program gives sessions to its few busiest goroutines,
// and the others use the client.
//
// A session is used in one of two ways at a time. Get, Put and the others are those of Client.
// StartGet, StartPut and so on return at once, and Next returns results: those of one core in
// the order of the starts, those of different cores in any order. Operations on one key are on
// one core.
//
// Operations on one key happen in the order of the starts, so a get sees every change that the
// session started before it and none that it started after. Operations on different keys of
// one core happen in that order too, with two exceptions:
//
//   - On PathHerd and PathSendRecv a get whose value is too long for the path is repeated by
//     PathRFP, after operations on other keys that were started later.
//   - A get whose link turned out to be outdated is sent to the server after later gets by links
//     of other keys. On the paths that search, a get whose item could not be proven is sent
//     after later gets of any key.
//
// ErrWindowFull refuses, on PathHerd and PathSendRecv, a change of a key whose get has no result
// yet and, on all paths, an operation that takes another connection than those before it.
//
// A session belongs to one goroutine at a time, Close included.
type Session struct {
	target
	client  *Client
	cfg     config
	welcome *command.Welcome
	seed    store.Seed
	routes  []sessionRoute
	pending int // started operations without a result
	at      int // route to look at first
	direct  int // longest message that is written in place into a frame
	scratch []byte
	hash    uint64 // of the key of the present operation
	hashes  bool   // connections always need it
	closed  bool

	fault   fault // of the present synchronous operation
	renew   bool  // the server refused an operation: make all connections anew
	outage  sessionOutage
	since   int64 // when the last connection was made, on the device's clock
	backoff backoff.Pauses

	reconnects, retries uint64
	past                path.Counters
}

// sessionRoute is a session's way to one core.
type sessionRoute struct {
	conn  *path.Conn
	stale int // results of abandoned operations, before all others
	// Ring of the started operations.
	calls        []started
	first, count int
	// With batches, filling operations were started since the connection had sent mark
	// frames.
	filling int
	mark    uint64
}

// started is an operation without a result.
type started struct {
	tag uint64
	op  command.Proc
}

// Session makes a session. It has the options of the client, except for a batch of 1,
// changed by opts.
func (c *Client) Session(ctx context.Context, opts ...Option) (*Session, error) {
	cfg := c.cfg
	cfg.Batch, cfg.InOrder = 1, true
	cfg, err := cfg.apply(opts)
	if err != nil {
		return nil, err
	}
	if cfg.Path.Small() {
		cfg.Batch = 1 // each operation is a request of its own
	}
	if cfg.settle(&c.dialer); cfg.AutoLinks && cfg.Batch > 1 {
		cfg.Links = 0 // operations do not come one at a time
	}
	if cfg.clientOnly != "" {
		return nil, fmt.Errorf("%w: %s is an option of clients", ErrInvalid, cfg.clientOnly)
	}
	if c.conns.Closed() || !c.device.acquire() {
		return nil, ErrClosed
	}
	s := &Session{
		target: c.target, client: c, cfg: cfg, hashes: cfg.Path.NeedsHashes(), direct: defaultDirect, since: c.now(), backoff: cfg.Backoff(),
	}
	if err := s.connectAll(ctx, nil, nil); err != nil {
		_ = c.device.release()
		return nil, s.dialError(err)
	}
	return s, nil
}

// connectAll makes all connections; first is one that exists already, or nil.
func (s *Session) connectAll(ctx context.Context, first *path.Conn, w *command.Welcome) error {
	conns, w, err := s.dialer.ConnectAll(ctx, &s.cfg.Config, first, w)
	if err != nil {
		return err
	}
	s.dropAll()
	s.welcome, s.seed, s.at, s.routes = w, store.Seed(w.Seed), 0, make([]sessionRoute, len(conns))
	for i, conn := range conns {
		s.routes[i].conn = conn
		s.routes[i].calls = make([]started, conn.MaxPending())
	}
	return nil
}

// dropAll closes all connections.
func (s *Session) dropAll() {
	for i := range s.routes {
		s.dropRoute(&s.routes[i])
	}
}

// dropRoute closes a connection and keeps its counts.
func (s *Session) dropRoute(rt *sessionRoute) {
	if rt.conn != nil {
		_ = rt.conn.Close()
		s.past.Add(rt.conn.Counters())
		rt.conn, rt.stale, rt.filling = nil, 0, 0
	}
}

// Close closes the connections of the session. Started operations without a result
// may have happened or not. A second Close returns ErrClosed.
func (s *Session) Close() error {
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	s.dropAll()
	for i := range s.routes {
		s.routes[i].count = 0
	}
	s.pending = 0
	return s.client.device.release()
}

// Counters returns what the session has done. It belongs to the goroutine of the
// session.
func (s *Session) Counters() Counters {
	n := s.past
	for i := range s.routes {
		if conn := s.routes[i].conn; conn != nil {
			n.Add(conn.Counters())
		}
	}
	n.Reconnects, n.Retries = s.reconnects, s.retries
	return Counters(n)
}

// routeOf returns the route to the core that has the key, and notes the hash of the key if
// the connection needs it.
func (s *Session) routeOf(key string) *sessionRoute {
	if len(s.routes) == 1 && !s.hashes {
		if conn := s.routes[0].conn; conn == nil || !conn.WantsHash() {
			return &s.routes[0]
		}
	}
	s.hash = s.seed.HashString(key)
	return &s.routes[store.PartitionOf(s.hash, len(s.routes))]
}

// over reports whether the session or its client was closed.
func (s *Session) over() bool { return s.closed || s.client.conns.Closed() }

// defaultDirect is the longest message that fits a frame of the usual size.
const defaultDirect = 2000

// reserve returns room for a message of n bytes behind the procedure's number; flat says that
// the room is in memory of the session, and commit has to copy it.
func (s *Session) reserve(rt *sessionRoute, op command.Proc, n int) (b []byte, flat bool, err error) {
	s.beginFrame(rt)
	n += rpc.ProcSize
	if n <= s.direct {
		if b, err = rt.conn.Reserve(op, s.hash, n); err == nil {
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

// beginFrame notes how many frames were sent before the operations that fill a batch.
func (s *Session) beginFrame(rt *sessionRoute) {
	if s.cfg.Batch > 1 && rt.filling == 0 {
		rt.mark = rt.conn.Frames()
	}
}

// commit sends the message that reserve began, followed by body if it is flat.
func (s *Session) commit(rt *sessionRoute, op command.Proc, b, body []byte, flat bool) error {
	if !flat {
		return rt.conn.Commit(op, s.hash)
	}
	err := rt.conn.SendLong(op, s.hash, b, body)
	if s.scratch = b; cap(b) > keepRequest {
		s.scratch = nil
	}
	return err
}

// sendError is the error of an operation that was not sent.
func (s *Session) sendError(rt *sessionRoute, op command.Proc, err error) error {
	switch {
	case errors.Is(err, rpc.ErrWindowFull):
		return ErrWindowFull
	case errors.Is(err, rpc.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if e, ok := path.CallError(err); ok {
		return failure(op, e) // follow, where there are no links
	}
	if s.fault = faultUnsent; rt.count == 0 {
		s.broken(rt, err)
	}
	return s.lost(op, false, err)
}

// contextCheck bounds how long a session waits without a look at its context.
const contextCheck = time.Millisecond
