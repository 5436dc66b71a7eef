package remora

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
)

// Result is how a started operation ended.
type Result struct {
	// Tag is the tag that the operation was started with.
	Tag uint64
	// Item is the result of a get; a put sets only the version. The value is valid until
	// the next call of any method of the session.
	Item Item
	// Sum is the result of an incr.
	Sum int64
	// Err is the error that the synchronous operation would have returned.
	Err error
}

// StartGet starts to get an item. The result has the tag. The operation is sent when
// the batch is full, Flush is called or Next has to wait.
//
// After an error the operation was not started and has not happened: ErrWindowFull
// until results were taken; ErrUnavailable when the connection is lost, until Reconnect.
func (s *Session) StartGet(tag uint64, key string) error {
	if err := checkKey(key, s.welcome); err != nil {
		return err
	}
	rt, err := s.open(command.Get, key)
	if err != nil {
		return err
	}
	if rt.conn.Plain() && len(key) <= s.direct-rpc.ProcSize {
		s.beginFrame(rt)
		err = rt.conn.SendKey(command.Get, key)
		if err == nil || !errors.Is(err, rpc.ErrTooLarge) {
			return s.started(rt, command.Get, tag, err)
		}
	}
	b, flat, err := s.reserve(rt, command.Get, len(key))
	if err == nil {
		err = s.commit(rt, command.Get, append(b, key...), nil, flat)
	}
	return s.started(rt, command.Get, tag, err)
}

// StartPut starts to put an entry; see StartGet. The value is copied.
func (s *Session) StartPut(tag uint64, key string, e Entry, cond Condition) error {
	st, err := storeOf(&e, cond)
	if err != nil {
		return err
	}
	if err := checkPut(key, e.Value, s.welcome); err != nil {
		return err
	}
	rt, err := s.open(command.Put, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(rt, command.Put, st.Overhead()+len(key)+len(e.Value))
	if err == nil {
		value, apart := e.Value, []byte(nil)
		if flat {
			value, apart = nil, e.Value // only the connection copies a long value
		}
		err = s.commit(rt, command.Put, command.AppendPut(b, key, value, &st), apart, flat)
	}
	return s.started(rt, command.Put, tag, err)
}

// StartDelete starts to delete an item; see StartGet.
func (s *Session) StartDelete(tag uint64, key string) error {
	return s.startDelete(tag, key, 0)
}

func (s *Session) startDelete(tag uint64, key string, version uint64) error {
	if err := checkKey(key, s.welcome); err != nil {
		return err
	}
	rt, err := s.open(command.Delete, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(rt, command.Delete, command.DeleteOverhead(version)+len(key))
	if err == nil {
		err = s.commit(rt, command.Delete, command.AppendDelete(b, key, version), nil, flat)
	}
	return s.started(rt, command.Delete, tag, err)
}

// StartIncr starts to add to a counter; see StartGet.
func (s *Session) StartIncr(tag uint64, key string, delta int64) error {
	if err := checkKey(key, s.welcome); err != nil {
		return err
	}
	rt, err := s.open(command.Incr, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(rt, command.Incr, command.IncrOverhead+len(key))
	if err == nil {
		err = s.commit(rt, command.Incr, command.AppendIncr(b, key, delta), nil, flat)
	}
	return s.started(rt, command.Incr, tag, err)
}

// StartTouch starts to give an item another time to live; see StartGet.
func (s *Session) StartTouch(tag uint64, key string, ttl time.Duration) error {
	ms, err := millis(ttl)
	if err != nil {
		return err
	}
	if err := checkKey(key, s.welcome); err != nil {
		return err
	}
	rt, err := s.open(command.Touch, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(rt, command.Touch, command.TouchOverhead+len(key))
	if err == nil {
		err = s.commit(rt, command.Touch, command.AppendTouch(b, key, ms), nil, flat)
	}
	return s.started(rt, command.Touch, tag, err)
}

// open returns the route of a key on which operations can be started.
func (s *Session) open(op command.Proc, key string) (*sessionRoute, error) {
	rt := s.routeOf(key)
	if rt.conn == nil {
		return nil, s.down(op)
	}
	return rt, nil
}

// down is the error of an operation that has no connection.
func (s *Session) down(op command.Proc) error { return s.lost(op, false, s.downReason()) }

// started notes an operation that was started.
func (s *Session) started(rt *sessionRoute, op command.Proc, tag uint64, err error) error {
	if err != nil {
		return s.sendError(rt, op, err)
	}
	if rt.count == len(rt.calls) {
		rt.grow()
	}
	at := rt.first + rt.count
	if at >= len(rt.calls) {
		at -= len(rt.calls)
	}
	rt.calls[at] = started{tag, op}
	rt.count++
	s.pending++
	if rt.filling++; rt.filling >= s.cfg.Batch {
		rt.filling = 0
	}
	return nil
}

// grow makes room for more started operations.
func (rt *sessionRoute) grow() {
	bigger := make([]started, max(2*len(rt.calls), 16))
	n := copy(bigger, rt.calls[rt.first:])
	copy(bigger[n:], rt.calls[:rt.first])
	rt.calls, rt.first = bigger, 0
}

// pop returns the oldest started operation.
func (rt *sessionRoute) pop() started {
	call := rt.calls[rt.first]
	if rt.first++; rt.first == len(rt.calls) {
		rt.first = 0
	}
	rt.count--
	return call
}

// Pending returns how many started operations have no result yet.
func (s *Session) Pending() int { return s.pending }

// Flush sends the operations that were started and not sent. Next reports those that
// cannot be sent because a connection was lost.
func (s *Session) Flush() {
	for i := range s.routes {
		if rt := &s.routes[i]; rt.count != 0 && rt.conn != nil {
			rt.conn.Flush()
			rt.filling = 0
		}
	}
}

// Poll returns a result that has arrived, or false, without waiting.
func (s *Session) Poll() (r Result, ok bool) {
	ok = s.PollInto(&r)
	return r, ok
}

// PollInto is Poll into a result of the caller, which saves a copy as expensive as
// reading the result. When it returns false the result is zero.
func (s *Session) PollInto(r *Result) bool {
	*r = Result{}
	for range s.routes {
		if rt := &s.routes[s.at]; rt.count != 0 && s.take(rt, r) {
			return true
		}
		if s.at++; s.at == len(s.routes) {
			s.at = 0
		}
	}
	return false
}

// take takes the next result of a route that waits for some. r is zero, and stays
// so when there is none.
func (s *Session) take(rt *sessionRoute, r *Result) bool {
	if conn := rt.conn; conn.NextIsPlain() && rt.stale == 0 {
		if data, ok := conn.NextPlain(); ok {
			s.took(rt, r, data, nil)
			return true
		}
	}
	for {
		data, err, ok := rt.conn.Next()
		if !ok {
			if err = rt.conn.Err(); err == nil {
				return false
			}
			s.takeLost(rt, r, err)
			return true
		}
		if rt.stale == 0 {
			s.took(rt, r, data, err)
			return true
		}
		rt.stale--
	}
}

// took makes the result of the oldest operation from the data that arrived for it.
func (s *Session) took(rt *sessionRoute, r *Result, data []byte, err error) {
	call := rt.pop()
	s.pending--
	if r.Tag = call.tag; err != nil || !read(call.op, data, r) {
		r.Err = s.unusual(call.op, data, err)
	}
}

// takeLost makes the result of the oldest operation, whose connection was lost.
func (s *Session) takeLost(rt *sessionRoute, r *Result, why error) {
	// The frame that was being filled when nothing had been sent since never left.
	sent := rt.count > rt.filling || rt.conn.Frames() != rt.mark
	call := rt.pop()
	s.pending--
	if s.fault = faultSent; !sent {
		s.fault = faultUnsent
	}
	if rt.count == 0 {
		s.broken(rt, why)
	}
	r.Tag, r.Err = call.tag, s.lost(call.op, sent, why)
}

// read reads the result of an operation that succeeded, and returns false for other
// results.
func read(op command.Proc, data []byte, r *Result) bool {
	switch op {
	case command.Get, command.Follow:
		return r.Item.read(data)
	case command.Put:
		version, status, err := command.ParseStored(data)
		r.Item.Version = version
		return err == nil && status == command.OK
	case command.Incr:
		sum, version, status, err := command.ParseCounted(data)
		r.Sum, r.Item.Version = sum, version
		return err == nil && status == command.OK
	default:
		body, status, err := command.ParseStatus(data)
		return err == nil && status == command.OK && len(body) == 0
	}
}

// unusual is the error of an operation that did not succeed.
func (s *Session) unusual(op command.Proc, data []byte, err error) error {
	if err != nil {
		return s.callError(op, err)
	}
	if status := refusal(data); status != command.OK {
		s.refused(status)
		return s.lost(op, false, statusError(status))
	}
	return s.resultError(op, data)
}

// callError is the error of a call that the server failed.
func (s *Session) callError(op command.Proc, err error) error {
	if e, ok := path.CallError(err); ok {
		return failure(op, e)
	}
	return s.lost(op, true, err)
}

// lookAround is how often a session polls all its connections before it waits
// at one of them, and turn how long it waits there.
const (
	lookAround = 1 << 9
	turn       = 50 * time.Microsecond
)

// Next returns a result. If none has arrived it flushes and waits for one. The error is
// ErrIdle if no operation was started, that of ctx if it ended first, or ErrClosed;
// operations without a result stay started.
func (s *Session) Next(ctx context.Context) (r Result, err error) {
	err = s.NextInto(ctx, &r)
	return r, err
}

// NextInto is Next into a result of the caller, as PollInto. With an error the result
// is zero.
func (s *Session) NextInto(ctx context.Context, r *Result) error {
	if s.PollInto(r) {
		return nil
	}
	s.Flush()
	for {
		switch {
		case s.over():
			return ErrClosed
		case s.pending == 0:
			return s.idle(ctx)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if s.waitOnce(r) {
			return nil
		}
	}
}

// idle waits for the results of abandoned operations, which may be what fills a window.
func (s *Session) idle(ctx context.Context) error {
	for i := range s.routes {
		if rt := &s.routes[i]; rt.stale != 0 {
			if err := s.drain(ctx, rt); err != nil {
				return err
			}
		}
	}
	return ErrIdle
}

// waitOnce waits for a short time.
func (s *Session) waitOnce(r *Result) bool {
	rt, alone := s.busy()
	if alone {
		rt.conn.Wait(contextCheck)
		return s.PollInto(r)
	}
	for range lookAround {
		if s.PollInto(r) {
			return true
		}
	}
	if !s.cfg.Busy {
		rt.conn.Wait(turn)
	}
	return s.PollInto(r)
}

// busy returns a route that waits for results, and whether it is the only one.
func (s *Session) busy() (busy *sessionRoute, alone bool) {
	for i := range s.routes {
		if rt := &s.routes[i]; rt.count != 0 {
			if busy != nil {
				return busy, false
			}
			busy = rt
		}
	}
	return busy, true
}
