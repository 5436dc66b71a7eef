package remora

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// fault says how a connection failed a synchronous operation.
type fault uint8

const (
	faultNone   fault = iota
	faultUnsent       // the connection was lost before
	faultSent         // the connection was lost with the operation in flight
	faultMap          // the server distributes keys to cores in another way
)

// sessionOutage is a time in which connections of a session are missing.
type sessionOutage struct {
	on          bool
	since, next int64 // when it began, and when to try again: on the device's clock
	err         error
}

// broken closes a lost connection, on which no operation waits for a result.
func (s *Session) broken(rt *sessionRoute, why error) {
	s.dropRoute(rt)
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
	now := s.now()
	s.outage = sessionOutage{on: true, since: now, next: now, err: why}
	if now-s.since > int64(s.backoff.Most()) {
		s.backoff.Reset()
	} else {
		s.outage.next += int64(s.backoff.Take())
	}
}

// refused notes that the server refused an operation. All connections are made anew before
// the next synchronous operation.
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

// Reconnect makes lost connections anew. Synchronous operations call it themselves; a
// program that starts operations calls it after ErrUnavailable, when it has taken all
// results (otherwise ErrPending). It tries until the reconnect wait after the loss has passed
// (WithReconnectWait), and from then on at most once per pause of WithBackoff.
func (s *Session) Reconnect(ctx context.Context) error {
	switch {
	case s.over():
		return ErrClosed
	case s.pending != 0:
		return ErrPending
	}
	for {
		if s.outage.on && s.now() < s.outage.next {
			if err := s.pause(ctx); err != nil {
				return err
			}
		}
		err := s.reconnectOnce(ctx)
		if err == nil {
			s.outage, s.since = sessionOutage{}, s.now()
			return nil
		}
		s.begins(err)
		s.outage.err = err
		s.outage.next = s.now() + int64(s.backoff.Take())
	}
}

// pause waits until the next attempt is due, or returns why there is none.
func (s *Session) pause(ctx context.Context) error {
	now, end := s.now(), s.outage.since+int64(s.cfg.ReconnectWait)
	if now >= end {
		return s.outage.err
	}
	timer := time.NewTimer(time.Duration(min(s.outage.next, end) - now))
	defer timer.Stop()
	select {
	case <-timer.C:
		if s.outage.next > end {
			return fmt.Errorf("no connection within %v: %w", s.cfg.ReconnectWait, s.outage.err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.client.conns.Done():
		return ErrClosed
	}
}

// reconnectOnce tries once to make all missing connections.
func (s *Session) reconnectOnce(ctx context.Context) error {
	if s.renew {
		if err := s.connectAll(ctx, nil, nil); err != nil {
			return err
		}
		s.renew = false
		s.reconnects++
		return nil
	}
	for core := range s.routes {
		if err := s.reconnectRoute(ctx, core); err != nil {
			return err
		}
	}
	return nil
}

// reconnectRoute makes a connection anew if it was lost, and all of them if the server was
// restarted.
func (s *Session) reconnectRoute(ctx context.Context, core int) error {
	if core >= len(s.routes) {
		return nil // the restarted server has fewer
	}
	rt := &s.routes[core]
	if rt.conn != nil {
		if !rt.conn.Poll() || rt.conn.Err() == nil {
			return nil
		}
		s.dropRoute(rt)
	}
	conn, w, err := s.dialer.Reconnect(ctx, &s.cfg.Config, s.welcome, core)
	if err != nil {
		return err
	}
	if s.welcome.SameServer(w) {
		rt.conn = conn
	} else if err := s.connectAll(ctx, conn, w); err != nil {
		return err
	}
	s.reconnects++
	return nil
}
