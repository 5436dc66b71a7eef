package keli

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/backoff"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Session reads items, for one goroutine at a time. An item that its methods return, or pass to a
// function, is a view of the session's memory or the server's. It is valid until the next call of a
// method, which may unmap the memory: a program that uses the item after that may crash. Clone what
// is needed for longer.
type Session struct {
	client   *Client
	opts     *options
	clock    fabric.Clock
	reader   *reader   // nil if the connection is lost
	calls    *rfp.Conn // likewise
	pauses   backoff.Pauses
	snapshot *snapshot // nil before the first operation
	busy     bool      // while a function of the caller runs
	closed   bool

	renewPosted int64 // when the READ of the superblock in flight was posted; 0: none
	request     []byte
	pipeline    pipeline
	links       []kvl.Link // of a list
	stats       Counters
}

// Counters counts the operations of a session.
type Counters struct {
	Lookups, Reads, Renewals uint64
	// Late counts records that arrived after the end of the lease, and Corrupt records that failed
	// their checks. Both were read again.
	Late, Corrupt uint64
	// Snapshots counts how often the session moved to another generation, and Connects the reader
	// connections that it made.
	Snapshots, Connects uint64
}

func newSession(c *Client) *Session {
	s := &Session{client: c, opts: &c.opts, clock: c.clock, pauses: backoff.New(c.opts.firstPause, c.opts.longestPause)}
	s.pipeline.init(s, c.opts.window)
	return s
}

// Counters returns the counters of the session.
func (s *Session) Counters() Counters { return s.stats }

// Generation returns the generation that the session works in, or 0 before its first operation.
func (s *Session) Generation() uint64 {
	if s.snapshot == nil {
		return 0
	}
	return s.snapshot.generation
}

// Schema returns the names of the generation that the session works in, or nil before its first
// operation.
func (s *Session) Schema() *kvl.Schema {
	if s.snapshot == nil {
		return nil
	}
	return s.snapshot.schema
}

// enter returns why a method cannot run.
func (s *Session) enter() error {
	switch {
	case s.closed || s.client.closed.Load():
		return ErrClosed
	case s.busy:
		return ErrBusy
	}
	return nil
}

// Close ends the connections of the session. A second Close returns ErrClosed.
func (s *Session) Close() error {
	if s.closed {
		return ErrClosed
	}
	if s.busy {
		return ErrBusy
	}
	s.closed = true
	s.dropReader()
	s.dropCalls()
	return s.client.release()
}

func (s *Session) dropReader() {
	if s.reader != nil {
		s.reader.close()
		s.reader, s.renewPosted = nil, 0
	}
}

func (s *Session) dropCalls() {
	if s.calls != nil {
		_ = s.calls.Close()
		s.calls = nil
	}
}

// connected makes the connections that are missing. It tries again as long as WithReconnectWait says.
func (s *Session) connected(ctx context.Context) error {
	if s.reader != nil && s.calls != nil {
		return nil
	}
	for since := s.clock.Now(); ; {
		err := s.connect(ctx)
		if err == nil {
			s.pauses.Reset()
			return nil
		}
		if permanent(err) || s.clock.Now()-since >= int64(s.opts.reconnectWait) {
			return s.unavailable(err)
		}
		if !s.pauses.Wait(ctx, s.client.over) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return ErrClosed
		}
	}
}

// permanent reports whether another attempt would fail in the same way.
func permanent(err error) bool {
	return errors.Is(err, ErrProtocol) || errors.Is(err, fabric.ErrUnsupported) || errors.Is(err, fabric.ErrInvalid)
}

func (s *Session) unavailable(why error) error {
	if dial := (*fabric.DialError)(nil); errors.As(why, &dial) {
		why = dial.Err // without the address
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s.client.addr, why)
}

// connect makes the connections that are missing, once.
func (s *Session) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.dialTimeout)
	defer cancel()
	c := s.client
	if s.reader == nil {
		r, err := dialReader(ctx, c.addr, c.device, s.opts)
		if err != nil {
			return err
		}
		s.reader = r
		s.stats.Connects++
	}
	if s.calls == nil {
		conn, err := rfp.Dial(ctx, c.addr, rfp.ConnConfig{Device: c.device, Core: rfp.AnyCore, Window: 1, Policy: s.opts.policy})
		if err != nil {
			return err
		}
		s.calls = conn
	}
	return nil
}

// attempts counts the failures of one operation, to bound them.
type attempts struct{ lost, late, corrupt int }

const (
	maxLost    = 4  // connections that break after they were made
	maxLate    = 16 // leases that end before bytes arrive
	maxCorrupt = 2  // records that are wrong, and are read again
)

// errLate says that bytes arrived after the end of the lease (E2).
var errLate = errors.New("keli: the lease ended before the bytes arrived")

// retry prepares to try an operation again that failed with err. It returns the error to fail with
// if the operation should not be tried again.
func (s *Session) retry(ctx context.Context, t *attempts, err error) error {
	switch {
	case s.reader != nil && s.reader.err != nil && errors.Is(err, s.reader.err):
		s.client.log().Debug("connection lost", "addr", s.client.addr.String(), "err", err)
		if s.reader.revoked && s.snapshot != nil {
			s.snapshot.until.Store(0) // whatever the clock says: READ the superblock
		}
		s.dropReader()
		if t.lost++; t.lost > maxLost {
			return s.unavailable(err)
		}
		return nil
	case errors.Is(err, errLate):
		s.stats.Late++
		if t.late++; t.late > maxLate {
			return fmt.Errorf("%w: %w", ErrGenerationOver, err)
		}
		return nil
	case errors.Is(err, kvl.ErrCorrupt):
		s.stats.Corrupt++
		if t.corrupt++; t.corrupt > maxCorrupt {
			return err
		}
		return nil
	case ctx.Err() != nil && s.reader != nil:
		s.dropReader() // READs in flight must not arrive in slots that are used again
	}
	return err
}
