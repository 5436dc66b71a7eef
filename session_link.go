package remora

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// fault is why a synchronous operation has no answer, if that is a matter of
// connections.
type fault uint8

const (
	faultNone   fault = iota
	faultUnsent       // the connection was lost before
	faultSent         // the connection was lost with the operation on its way
	faultMap          // the server has another map
)

// sessionOutage is a time in which connections of a session are missing.
type sessionOutage struct {
	on          bool
	since, next int64 // when it began, and when to try again: on the device's clock
	err         error
}

// broken closes a connection that is over. Nothing waits for results on it.
func (s *Session) broken(ln *sessionLane, why error) {
	s.dropLane(ln)
	s.begins(why)
	if s.fault == faultNone {
		s.fault = faultUnsent
	}
}

// begins notes that there is an outage. The first attempt to end it is made at
// once, unless connections do not last.
func (s *Session) begins(why error) {
	if s.outage.on {
		return
	}
	now := s.clock.Now()
	s.outage = sessionOutage{on: true, since: now, next: now, err: why}
	if now-s.since > int64(s.backoff.Most()) {
		s.backoff.Reset()
	} else {
		s.outage.next += int64(s.backoff.Take())
	}
}

// refused notes that the server has another map, or is about to end. All
// connections are made anew before the next synchronous operation.
func (s *Session) refused(status command.Status) {
	if s.renew = true; status == command.WrongCore {
		s.fault = faultMap
		return
	}
	s.fault = faultUnsent
	s.begins(statusError(status))
}

// downReason says why a connection is missing.
func (s *Session) downReason() error {
	if s.over() {
		return ErrClosed
	}
	return s.outage.err
}

// Reconnect makes the connections anew that were lost. Synchronous operations call
// it by themselves; who starts operations calls it after ErrUnavailable, when it
// has taken all results (else ErrPending). It tries until the client's patience
// after the loss is over (WithPatience), and from then on at most once in the time
// of a backoff.
func (s *Session) Reconnect(ctx context.Context) error {
	switch {
	case s.over():
		return ErrClosed
	case s.pending != 0:
		return ErrPending
	}
	for {
		if s.outage.on && s.clock.Now() < s.outage.next {
			if err := s.pause(ctx); err != nil {
				return err
			}
		}
		err := s.reconnectOnce(ctx)
		if err == nil {
			s.outage, s.since = sessionOutage{}, s.clock.Now()
			return nil
		}
		s.begins(err)
		s.outage.err = err
		s.outage.next = s.clock.Now() + int64(s.backoff.Take())
	}
}

// pause waits until it is time for another attempt, or returns why not.
func (s *Session) pause(ctx context.Context) error {
	now, end := s.clock.Now(), s.outage.since+int64(s.cfg.wait)
	if now >= end {
		return s.outage.err
	}
	timer := time.NewTimer(time.Duration(min(s.outage.next, end) - now))
	defer timer.Stop()
	select {
	case <-timer.C:
		if s.outage.next > end {
			return fmt.Errorf("no connection within %v: %w", s.cfg.wait, s.outage.err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.client.ctx.Done():
		return ErrClosed
	}
}

// reconnectOnce tries once to have all connections.
func (s *Session) reconnectOnce(ctx context.Context) error {
	if s.renew {
		if err := s.connectLanes(ctx, nil, nil); err != nil {
			return err
		}
		s.renew = false
		s.reconnects++
		return nil
	}
	for core := range s.lanes {
		if err := s.reconnectLane(ctx, core); err != nil {
			return err
		}
	}
	return nil
}

// reconnectLane makes a connection anew if it is over, and all of them when the
// server is another one.
func (s *Session) reconnectLane(ctx context.Context, core int) error {
	if core >= len(s.lanes) {
		return nil // another server has fewer
	}
	ln := &s.lanes[core]
	if ln.conn != nil {
		if !ln.conn.Poll() || ln.conn.Err() == nil {
			return nil
		}
		s.dropLane(ln)
	}
	conn, w, err := s.reach(ctx, &s.cfg, s.welcome, core)
	if err != nil {
		return err
	}
	if sameServer(s.welcome, w) {
		ln.conn = conn
		conn.inOrder()
	} else if err := s.connectLanes(ctx, conn, w); err != nil {
		return err
	}
	s.reconnects++
	return nil
}
