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

// Session reads items, for one goroutine at a time. Items and lists that its methods return
// or show are views of its memory or the server's, valid until the next call of any of them: that may
// take the memory away, and to look at it then may end the program. Clone what is to stay.
type Session struct {
	client *Client
	opts   *options
	clock  fabric.Clock
	reader *reader   // nil when it is lost
	calls  *rfp.Conn // likewise
	pauses backoff.Pauses
	view   *view // nil before the first
	busy   bool  // a function of the caller is being called
	closed bool

	renewed int64 // when the READ of the board was posted that is on its way; 0 none
	request []byte
	flight  flight
	links   []kvl.Link // of a list
	stats   Counters
}

// Counters is what a session has done.
type Counters struct {
	Lookups, Reads, Renewals uint64
	// Late are records that arrived after the lease and were read again, Spoilt those that
	// were read again because they did not prove themselves.
	Late, Spoilt uint64
	// Views are the generations that the session has moved on to, Connects the connections
	// for READs that it has made.
	Views, Connects uint64
}

func newSession(c *Client) *Session {
	s := &Session{client: c, opts: &c.opts, clock: c.clock, pauses: backoff.New(c.opts.firstPause, c.opts.longestPause)}
	s.flight.init(s, c.opts.window)
	return s
}

// Counters returns what the session has done.
func (s *Session) Counters() Counters { return s.stats }

// Generation returns the generation that the session works in, 0 before the first.
func (s *Session) Generation() uint64 {
	if s.view == nil {
		return 0
	}
	return s.view.generation
}

// Schema returns the names of the generation that the session works in, nil before the first.
func (s *Session) Schema() *kvl.Schema {
	if s.view == nil {
		return nil
	}
	return s.view.schema
}

// enter is called at the begin of each method.
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
		s.reader, s.renewed = nil, 0
	}
}

func (s *Session) dropCalls() {
	if s.calls != nil {
		_ = s.calls.Close()
		s.calls = nil
	}
}

// connected makes the connections that are missing, and tries again as long as the client
// has patience.
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
		if hopeless(err) || s.clock.Now()-since >= int64(s.opts.patience) {
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

// hopeless reports whether another attempt will fail as this one.
func hopeless(err error) bool {
	return errors.Is(err, ErrProtocol) || errors.Is(err, fabric.ErrUnsupported) || errors.Is(err, fabric.ErrInvalid)
}

func (s *Session) unavailable(why error) error {
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

// tries counts what goes wrong in one operation, so that it ends.
type tries struct{ lost, late, spoilt int }

const (
	maxLost   = 4  // connections that break after they were made
	maxLate   = 16 // leases that end before bytes arrive
	maxSpoilt = 2  // records that are wrong, and are read again
)

// errLate says that bytes arrived after the end of the lease (E2).
var errLate = errors.New("keli: the lease ended before the bytes arrived")

// retry reports whether an operation that failed is to be tried again, after it has mended
// what it can. It returns the error to fail with if not.
func (s *Session) retry(ctx context.Context, t *tries, err error) error {
	switch {
	case s.reader != nil && s.reader.err != nil && errors.Is(err, s.reader.err):
		s.client.log().Debug("connection lost", "addr", s.client.addr.String(), "err", err)
		if s.reader.revoked && s.view != nil {
			s.view.until.Store(0) // whatever our clock says: the board will tell
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
		s.stats.Spoilt++
		if t.spoilt++; t.spoilt > maxSpoilt {
			return err
		}
		return nil
	case ctx.Err() != nil && s.reader != nil:
		s.dropReader() // what is on its way must not land in what others read
	}
	return err
}
