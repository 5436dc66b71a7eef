package kvl

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/kvl/app"
)

// filler is a store that is filled before it is used.
type filler interface {
	app.Store
	// put stores a value, some time before settle returns.
	put(key, value []byte) error
	settle(ctx context.Context) error
	Close() error
}

// sessionStore is a session of the cache.
type sessionStore struct {
	*remora.Session
	ctx   context.Context // of the filling
	depth int             // gets in flight
	r     remora.Result
	late  map[uint64][]byte // values that came before their turn, from other cores
}

func newSessionStore(ctx context.Context, s *remora.Session, depth int) *sessionStore {
	return &sessionStore{Session: s, ctx: ctx, depth: depth, late: map[uint64][]byte{}}
}

// Get implements app.Store.
func (s *sessionStore) Get(ctx context.Context, keys *app.Keys, f func(int, []byte) error) error {
	for started, ended := 0, 0; ended < keys.Len(); {
		for started < keys.Len() && started-ended < s.depth {
			err := s.StartGet(uint64(started), string(keys.At(started)))
			if errors.Is(err, remora.ErrWindowFull) && started > ended {
				break
			}
			if err != nil {
				return err
			}
			started++
		}
		if err := s.NextInto(ctx, &s.r); err != nil {
			return err
		}
		if s.r.Err != nil && !errors.Is(s.r.Err, remora.ErrNotFound) {
			return s.r.Err
		}
		if s.r.Tag != uint64(ended) {
			s.late[s.r.Tag] = append([]byte(nil), s.r.Item.Value...)
			continue
		}
		if err := s.hand(&ended, s.r.Item.Value, f); err != nil {
			return err
		}
	}
	return nil
}

// hand hands out a value, and those behind it that came before.
func (s *sessionStore) hand(ended *int, value []byte, f func(int, []byte) error) error {
	for ok := true; ok; {
		if err := f(*ended, value); err != nil {
			return err
		}
		*ended++
		if len(s.late) == 0 {
			return nil
		}
		value, ok = s.late[uint64(*ended)]
		delete(s.late, uint64(*ended))
	}
	return nil
}

func (s *sessionStore) put(key, value []byte) error {
	for {
		err := s.StartPut(0, string(key), remora.Entry{Value: value}, remora.Always())
		if !errors.Is(err, remora.ErrWindowFull) {
			return err
		}
		if err := s.takeOne(s.ctx); err != nil {
			return err
		}
	}
}

func (s *sessionStore) takeOne(ctx context.Context) error {
	if err := s.NextInto(ctx, &s.r); err != nil {
		return err
	}
	return s.r.Err
}

func (s *sessionStore) settle(ctx context.Context) error {
	for s.Pending() != 0 {
		if err := s.takeOne(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pipeStore is a connection with memcached.
type pipeStore struct {
	conn  *target.Pipeline
	depth int
	puts  int // that were not answered
}

// putsMost is how many sets are sent before answers are read.
const putsMost = 256

// Get implements app.Store.
func (p *pipeStore) Get(ctx context.Context, keys *app.Keys, f func(int, []byte) error) error {
	for started, ended := 0, 0; ended < keys.Len(); {
		for ; started < keys.Len() && started-ended < p.depth; started++ {
			if err := p.conn.Get(keys.At(started)); err != nil {
				return err
			}
		}
		a, err := p.answer(ctx)
		if err != nil {
			return err
		}
		for ok := true; ok; {
			value := a.Value
			if a.Kind == target.Miss {
				value = nil
			}
			if err := f(ended, value); err != nil {
				return err
			}
			if ended++; ended == started {
				break
			}
			if a, ok, err = p.conn.Poll(); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer waits for an answer.
func (p *pipeStore) answer(ctx context.Context) (target.Answer, error) {
	for {
		a, ok, err := p.conn.Next()
		switch {
		case err != nil:
			return a, err
		case ok:
			return a, a.Err()
		case ctx.Err() != nil:
			return a, fmt.Errorf("kvl: waiting for memcached: %w", context.Cause(ctx))
		}
	}
}

func (p *pipeStore) put(key, value []byte) error {
	if p.puts == putsMost {
		if err := p.settle(context.Background()); err != nil {
			return err
		}
	}
	p.puts++
	return p.conn.Set(key, value)
}

func (p *pipeStore) settle(ctx context.Context) error {
	for ; p.puts != 0; p.puts-- {
		if _, err := p.answer(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close implements io.Closer.
func (p *pipeStore) Close() error { return p.conn.Close() }
