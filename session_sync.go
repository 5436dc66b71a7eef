package remora

import (
	"context"
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// Get is Client.Get.
func (s *Session) Get(ctx context.Context, key string) ([]byte, error) {
	item, err := s.GetInto(ctx, key, nil)
	return item.Value, err
}

// GetItem is Client.GetItem.
func (s *Session) GetItem(ctx context.Context, key string) (Item, error) {
	return s.GetInto(ctx, key, nil)
}

// GetInto is Client.GetInto, which here needs room for the value only.
func (s *Session) GetInto(ctx context.Context, key string, dst []byte) (Item, error) {
	for t := (attempt{}); ; {
		rt, err := s.begin(ctx, command.Get, key)
		if err != nil {
			return Item{}, err
		}
		r := s.finish(ctx, rt, command.Get, s.StartGet(0, key))
		if r.Err == nil {
			r.Item.Value = append(dst, r.Item.Value...)
			return r.Item, nil
		}
		if !s.repeats(ctx, command.Get, &t) {
			return Item{}, r.Err
		}
	}
}

// Set is Client.Set.
func (s *Session) Set(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return s.Put(ctx, key, Entry{Value: value, TTL: ttl}, Always())
}

// Add is Client.Add.
func (s *Session) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return s.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfAbsent())
}

// Replace is Client.Replace.
func (s *Session) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (version uint64, err error) {
	return s.Put(ctx, key, Entry{Value: value, TTL: ttl}, IfPresent())
}

// CAS is Client.CAS.
func (s *Session) CAS(ctx context.Context, key string, old Item, value []byte, ttl time.Duration) (version uint64, err error) {
	return s.Put(ctx, key, Entry{Value: value, Flags: old.Flags, TTL: ttl}, IfVersion(old.Version))
}

// Put is Client.Put.
func (s *Session) Put(ctx context.Context, key string, e Entry, cond Condition) (version uint64, err error) {
	r := s.change(ctx, command.Put, key, func() error { return s.StartPut(0, key, e, cond) })
	return r.Item.Version, r.Err
}

// Delete is Client.Delete.
func (s *Session) Delete(ctx context.Context, key string) error {
	return s.delete(ctx, key, 0)
}

// DeleteVersion is Client.DeleteVersion.
func (s *Session) DeleteVersion(ctx context.Context, key string, version uint64) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	return s.delete(ctx, key, version)
}

func (s *Session) delete(ctx context.Context, key string, version uint64) error {
	return s.change(ctx, command.Delete, key, func() error { return s.startDelete(0, key, version) }).Err
}

// Touch is Client.Touch.
func (s *Session) Touch(ctx context.Context, key string, ttl time.Duration) error {
	return s.change(ctx, command.Touch, key, func() error { return s.StartTouch(0, key, ttl) }).Err
}

// Incr is Client.Incr.
func (s *Session) Incr(ctx context.Context, key string, delta int64) (int64, error) {
	r := s.change(ctx, command.Incr, key, func() error { return s.StartIncr(0, key, delta) })
	return r.Sum, r.Err
}

// change starts a change and waits for its result, as often as R1 allows.
func (s *Session) change(ctx context.Context, op command.Proc, key string, start func() error) Result {
	for t := (attempt{}); ; {
		rt, err := s.begin(ctx, op, key)
		if err != nil {
			return Result{Err: err}
		}
		r := s.finish(ctx, rt, op, start())
		if r.Err == nil || !s.repeats(ctx, op, &t) {
			return r
		}
	}
}

// begin returns a route with a connection on which a synchronous operation is alone.
func (s *Session) begin(ctx context.Context, op command.Proc, key string) (*sessionRoute, error) {
	s.fault = faultNone
	switch {
	case s.over():
		return nil, ErrClosed
	case s.pending != 0:
		return nil, ErrPending
	case ctx.Err() != nil:
		return nil, s.lost(op, false, context.Cause(ctx))
	}
	rt := s.routeOf(key)
	if rt.conn != nil && !s.renew {
		if rt.stale == 0 {
			// The loss of an idle connection is noticed here, before anything is
			// sent.
			if !rt.conn.Poll() {
				return rt, nil
			}
		} else if err := s.drain(ctx, rt); err != nil {
			return nil, s.lost(op, false, err)
		}
		err := rt.conn.Err()
		if err == nil {
			return rt, nil
		}
		s.broken(rt, err)
	}
	if err := s.Reconnect(ctx); err != nil {
		return nil, s.lost(op, false, err)
	}
	return s.routeOf(key), nil
}

// drain takes the results of abandoned operations.
func (s *Session) drain(ctx context.Context, rt *sessionRoute) error {
	for rt.stale != 0 && rt.conn.Err() == nil {
		if _, _, ok := rt.conn.Next(); ok {
			rt.stale--
			continue
		}
		if rt.conn.Wait(contextCheck) {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.over() {
			return ErrClosed
		}
	}
	return nil
}

// finish waits for the result of the operation that was just started; err is that
// of the start.
func (s *Session) finish(ctx context.Context, rt *sessionRoute, op command.Proc, err error) Result {
	if err != nil {
		return Result{Err: err}
	}
	if err := rt.conn.SendFrame(); err != nil {
		s.forget(rt)
		s.broken(rt, err)
		return Result{Err: s.lost(op, false, err)}
	}
	rt.filling = 0
	for {
		var r Result
		if (rt.conn.Wait(contextCheck) || rt.conn.Err() != nil) && s.take(rt, &r) {
			return r
		}
		why := context.Cause(ctx)
		if why == nil && s.over() {
			why = ErrClosed
		}
		if why != nil {
			s.forget(rt)
			rt.stale++
			return Result{Err: s.lost(op, true, why)}
		}
	}
}

// forget drops the operation that was just started.
func (s *Session) forget(rt *sessionRoute) {
	rt.pop()
	s.pending--
}

// repeats decides whether a synchronous operation that failed is begun anew.
func (s *Session) repeats(ctx context.Context, op command.Proc, t *attempt) bool {
	if s.fault == faultNone || ctx.Err() != nil || s.over() {
		return false
	}
	switch s.fault {
	case faultMap:
		if t.moved {
			return false
		}
		t.moved = true
	case faultSent:
		if t.again || !op.Idempotent() {
			return false
		}
		t.again = true
		s.retries++
	default:
		t.tries++
	}
	return t.tries <= maxTries
}
