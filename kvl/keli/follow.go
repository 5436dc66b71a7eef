package keli

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc"
)

// Follow READs the item behind a link of the session's generation. The error is ErrGeneration for a
// link of another generation, ErrNotFound for a link that leads nowhere, and ErrGenerationOver if
// the generation was replaced and its lease is over.
func (s *Session) Follow(ctx context.Context, l kvl.Link) (kvl.Item, error) {
	if err := s.enter(); err != nil {
		return kvl.Item{}, err
	}
	return s.follow(ctx, l)
}

func (s *Session) follow(ctx context.Context, l kvl.Link) (kvl.Item, error) {
	var t attempts
	for {
		item, err := s.followOnce(ctx, l)
		if err == nil {
			return item, nil
		}
		if err := s.retry(ctx, &t, err); err != nil {
			return kvl.Item{}, err
		}
	}
}

func (s *Session) followOnce(ctx context.Context, l kvl.Link) (kvl.Item, error) {
	if err := s.ready(ctx); err != nil {
		return kvl.Item{}, err
	}
	v, r := s.snapshot, s.reader
	from, err := v.find(l)
	if err != nil {
		return kvl.Item{}, err
	}
	slot := &r.slots[0]
	s.stats.Reads++
	if err := r.fetch(slot, from, l.Len()); err != nil {
		return kvl.Item{}, err
	}
	b, err := r.take(ctx, slot)
	if err != nil {
		return kvl.Item{}, err
	}
	if !v.valid(s.clock.Now()) {
		return kvl.Item{}, errLate
	}
	return kvl.ParseItem(b, l, v.generation)
}

// Lookup moves the session to the current generation and returns the item with a key, or
// ErrNotFound.
func (s *Session) Lookup(ctx context.Context, key []byte) (kvl.Item, error) {
	item, _, err := s.Find(ctx, key)
	return item, err
}

// Find is like Lookup, and also returns the link to the item.
func (s *Session) Find(ctx context.Context, key []byte) (kvl.Item, kvl.Link, error) {
	if err := s.enter(); err != nil {
		return kvl.Item{}, kvl.Link{}, err
	}
	a, err := s.ask(ctx, 0, key)
	if err == nil && (s.snapshot == nil || a.generation != s.snapshot.generation || s.snapshot.instance != s.reader.instance) {
		a, err = s.catchUp(ctx, a, key)
	}
	if err != nil {
		return kvl.Item{}, kvl.Link{}, err
	}
	item, err := s.found(ctx, &a, key)
	return item, a.link, err
}

// catchUp moves the session to the generation of an answer. If another one is current by then, it
// asks again in that.
func (s *Session) catchUp(ctx context.Context, a answer, key []byte) (answer, error) {
	for range maxLate {
		if err := s.refresh(ctx); err != nil {
			return a, err
		}
		if s.snapshot.generation == a.generation {
			return a, nil
		}
		var err error
		if a, err = s.ask(ctx, s.snapshot.generation, key); err != nil {
			return a, err
		}
		if s.snapshot.generation == a.generation && a.status != noGeneration {
			return a, nil
		}
	}
	return a, s.snapshot.expired()
}

// found returns the item of an answer in the generation of the session.
func (s *Session) found(ctx context.Context, a *answer, key []byte) (kvl.Item, error) {
	switch a.status {
	case found:
		return kvl.ParseItem(a.record, a.link, a.generation)
	case foundLong:
		return s.follow(ctx, a.link)
	case notFound:
		return kvl.Item{}, fmt.Errorf("%w: %.100q in generation %d", ErrNotFound, key, a.generation)
	default:
		return kvl.Item{}, s.snapshot.expired()
	}
}

// ask calls the server for a key in a generation, or in the current one for 0. If the server has
// none, the error is ErrEmpty.
func (s *Session) ask(ctx context.Context, generation uint64, key []byte) (answer, error) {
	s.stats.Lookups++
	s.request = appendRequest(append(s.request[:0], procLookup, 0), generation, key)
	result, err := s.call(ctx, s.request)
	if err != nil {
		return answer{}, err
	}
	a, err := parseAnswer(result)
	if err == nil && a.status == noGeneration && a.generation == 0 {
		err = ErrEmpty
	}
	return a, err
}

// call calls the server, and tries again on another connection if one is lost. The result is valid
// until the next call.
func (s *Session) call(ctx context.Context, msg []byte) ([]byte, error) {
	for range maxLost {
		if err := s.connected(ctx); err != nil {
			return nil, err
		}
		result, err := s.callOnce(ctx, msg)
		if err == nil {
			return result, nil
		}
		if err := refused(err); err != nil {
			return nil, err
		}
		s.dropCalls() // a late result must not be taken for the next one
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, s.unavailable(fmt.Errorf("%d connections for lookups were lost", maxLost))
}

// refused returns the error of a call that would fail on any connection, and nil for others.
func refused(err error) error {
	var failure *rpc.Error
	switch {
	case errors.As(err, &failure):
		return fmt.Errorf("keli: the server refuses: %w", err)
	case errors.Is(err, rpc.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

func (s *Session) callOnce(ctx context.Context, msg []byte) ([]byte, error) {
	c := s.calls
	if err := c.Send(msg[0], msg); err != nil {
		return nil, err
	}
	for {
		if result, err, ok := c.Next(); ok || err != nil {
			return result, err
		}
		if err := c.Err(); err != nil {
			return nil, err
		}
		if !c.Wait(contextInterval) && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}
