package remora

import (
	"context"
	"errors"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
)

// Result is how a started operation ended.
type Result struct {
	// Tag is what the operation was started with.
	Tag uint64
	// Item is that of a get; of a put only the version is there. Its value is valid
	// until the next call of any method of the session.
	Item Item
	// Sum is that of an incr.
	Sum int64
	// Err is the error that the synchronous operation would have returned.
	Err error
}

// StartGet starts to get an item. The tag comes back with the result. Nothing is
// sent before the batch is full, Flush is called or Next has to wait.
//
// An error says that the operation was not started and has not happened:
// ErrWindowFull until results were taken; ErrUnavailable when the connection is
// lost, until Reconnect.
func (s *Session) StartGet(tag uint64, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	ln, err := s.open(command.Get, key)
	if err != nil {
		return err
	}
	if ln.conn.bare() && len(key) <= s.direct-rpc.ProcSize {
		s.beginFrame(ln)
		err = ln.conn.rfp.SendArg(class, uint16(command.Get), key)
		if err == nil || !errors.Is(err, rpc.ErrTooLarge) {
			return s.started(ln, command.Get, tag, err)
		}
	}
	b, flat, err := s.reserve(ln, command.Get, len(key))
	if err == nil {
		err = s.commit(ln, command.Get, append(b, key...), nil, flat)
	}
	return s.started(ln, command.Get, tag, err)
}

// StartPut starts to put an entry; see StartGet. The value is copied.
func (s *Session) StartPut(tag uint64, key string, e Entry, cond Condition) error {
	st, err := storeOf(&e, cond)
	if err != nil {
		return err
	}
	if err := checkPut(key, e.Value, s.welcome.MaxValue); err != nil {
		return err
	}
	ln, err := s.open(command.Put, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(ln, command.Put, st.Overhead()+len(key)+len(e.Value))
	if err == nil {
		value, apart := e.Value, []byte(nil)
		if flat {
			value, apart = nil, e.Value // a long one is copied by the connection alone
		}
		err = s.commit(ln, command.Put, command.AppendPut(b, key, value, &st), apart, flat)
	}
	return s.started(ln, command.Put, tag, err)
}

// StartDelete starts to delete an item; see StartGet.
func (s *Session) StartDelete(tag uint64, key string) error {
	return s.startDelete(tag, key, 0)
}

func (s *Session) startDelete(tag uint64, key string, version uint64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	ln, err := s.open(command.Delete, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(ln, command.Delete, command.DeleteOverhead(version)+len(key))
	if err == nil {
		err = s.commit(ln, command.Delete, command.AppendDelete(b, key, version), nil, flat)
	}
	return s.started(ln, command.Delete, tag, err)
}

// StartIncr starts to add to a counter; see StartGet.
func (s *Session) StartIncr(tag uint64, key string, delta int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	ln, err := s.open(command.Incr, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(ln, command.Incr, command.IncrOverhead+len(key))
	if err == nil {
		err = s.commit(ln, command.Incr, command.AppendIncr(b, key, delta), nil, flat)
	}
	return s.started(ln, command.Incr, tag, err)
}

// StartTouch starts to give an item another time to live; see StartGet.
func (s *Session) StartTouch(tag uint64, key string, ttl time.Duration) error {
	ms, err := millis(ttl)
	if err != nil {
		return err
	}
	if err := checkKey(key); err != nil {
		return err
	}
	ln, err := s.open(command.Touch, key)
	if err != nil {
		return err
	}
	b, flat, err := s.reserve(ln, command.Touch, command.TouchOverhead+len(key))
	if err == nil {
		err = s.commit(ln, command.Touch, command.AppendTouch(b, key, ms), nil, flat)
	}
	return s.started(ln, command.Touch, tag, err)
}

// open returns the lane of a key on which operations can be started.
func (s *Session) open(op command.Proc, key string) (*sessionLane, error) {
	ln := s.laneOf(key)
	if ln.conn == nil {
		return nil, s.down(op)
	}
	return ln, nil
}

// down is the error of an operation that has no connection.
func (s *Session) down(op command.Proc) error { return s.lost(op, false, s.downReason()) }

// started notes an operation that was started.
func (s *Session) started(ln *sessionLane, op command.Proc, tag uint64, err error) error {
	if err != nil {
		return s.sendError(ln, op, err)
	}
	if ln.count == len(ln.calls) {
		ln.grow()
	}
	at := ln.first + ln.count
	if at >= len(ln.calls) {
		at -= len(ln.calls)
	}
	ln.calls[at] = started{tag, op}
	ln.count++
	s.pending++
	if ln.filling++; ln.filling >= s.cfg.batch {
		ln.filling = 0
	}
	return nil
}

// grow makes room for more started operations.
func (ln *sessionLane) grow() {
	bigger := make([]started, max(2*len(ln.calls), 16))
	n := copy(bigger, ln.calls[ln.first:])
	copy(bigger[n:], ln.calls[:ln.first])
	ln.calls, ln.first = bigger, 0
}

// pop returns the oldest started operation.
func (ln *sessionLane) pop() started {
	call := ln.calls[ln.first]
	if ln.first++; ln.first == len(ln.calls) {
		ln.first = 0
	}
	ln.count--
	return call
}

// Pending returns how many started operations have no result yet.
func (s *Session) Pending() int { return s.pending }

// Flush sends what was started and not sent. What cannot be sent because a
// connection was lost is reported by Next.
func (s *Session) Flush() {
	for i := range s.lanes {
		if ln := &s.lanes[i]; ln.count != 0 && ln.conn != nil {
			ln.conn.Flush()
			ln.filling = 0
		}
	}
}

// Poll returns a result that is there, without waiting; false when there is none.
func (s *Session) Poll() (r Result, ok bool) {
	ok = s.PollInto(&r)
	return r, ok
}

// PollInto is Poll into a result that is there already: to return one costs as much
// as to read it from its frame. When it returns false the result is zero.
func (s *Session) PollInto(r *Result) bool {
	*r = Result{}
	for range s.lanes {
		if ln := &s.lanes[s.at]; ln.count != 0 && s.take(ln, r) {
			return true
		}
		if s.at++; s.at == len(s.lanes) {
			s.at = 0
		}
	}
	return false
}

// take takes the next result of a lane that waits for some. r is zero, and stays
// so when there is none.
func (s *Session) take(ln *sessionLane, r *Result) bool {
	if conn := ln.conn; conn.unnoted() && ln.stale == 0 {
		if data, ok := conn.rfp.NextShort(); ok {
			s.took(ln, r, data, nil)
			return true
		}
	}
	for {
		data, err, ok := ln.conn.Next()
		if !ok {
			if err = ln.conn.Err(); err == nil {
				return false
			}
			s.takeLost(ln, r, err)
			return true
		}
		if ln.stale == 0 {
			s.took(ln, r, data, err)
			return true
		}
		ln.stale--
	}
}

// took makes the result of the oldest operation of what has come for it.
func (s *Session) took(ln *sessionLane, r *Result, data []byte, err error) {
	call := ln.pop()
	s.pending--
	if r.Tag = call.tag; err != nil || !read(call.op, data, r) {
		r.Err = s.unusual(call.op, data, err)
	}
}

// takeLost returns the result of an operation whose connection was lost.
func (s *Session) takeLost(ln *sessionLane, r *Result, why error) {
	// The frame that was being filled when nothing had been sent since never left.
	sent := ln.count > ln.filling || ln.conn.rfp.Frames() != ln.mark
	call := ln.pop()
	s.pending--
	if s.fault = faultSent; !sent {
		s.fault = faultUnsent
	}
	if ln.count == 0 {
		s.broken(ln, why)
	}
	r.Tag, r.Err = call.tag, s.lost(call.op, sent, why)
}

// read reads the result of an operation that did what was asked for; false leaves
// r as it is.
func read(op command.Proc, data []byte, r *Result) bool {
	switch op {
	case command.Get, opChase:
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

// unusual is the error of an operation that did not do what was asked for.
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
	if e, ok := callFailed(err); ok {
		return failure(op, e)
	}
	return s.lost(op, true, err)
}

// lookAround is how often a session looks at all its connections before it waits
// at one of them, and turn how long it does so.
const (
	lookAround = 1 << 9
	turn       = 50 * time.Microsecond
)

// Next returns a result, and waits for one where there is none, after a Flush. The
// error is ErrIdle when nothing was started, that of ctx when it ended first, or
// ErrClosed; operations without a result stay started.
func (s *Session) Next(ctx context.Context) (r Result, err error) {
	err = s.NextInto(ctx, &r)
	return r, err
}

// NextInto is Next into a result that is there already, as PollInto. Where it returns
// an error the result is zero.
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

// idle waits for results that nobody waits for any more: they may be what a window
// is full of.
func (s *Session) idle(ctx context.Context) error {
	for i := range s.lanes {
		if ln := &s.lanes[i]; ln.stale != 0 {
			if err := s.drain(ctx, ln); err != nil {
				return err
			}
		}
	}
	return ErrIdle
}

// waitOnce waits for a short time.
func (s *Session) waitOnce(r *Result) bool {
	ln, alone := s.busy()
	if alone {
		ln.conn.Wait(nap)
		return s.PollInto(r)
	}
	for range lookAround {
		if s.PollInto(r) {
			return true
		}
	}
	if s.cfg.policy != fabric.Busy {
		ln.conn.Wait(turn)
	}
	return s.PollInto(r)
}

// busy returns a lane that waits for results, and whether it is the only one.
func (s *Session) busy() (busy *sessionLane, alone bool) {
	for i := range s.lanes {
		if ln := &s.lanes[i]; ln.count != 0 {
			if busy != nil {
				return busy, false
			}
			busy = ln
		}
	}
	return busy, true
}
