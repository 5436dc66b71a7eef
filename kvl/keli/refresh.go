package keli

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// Refresh moves the session on to the current generation, if there is another one.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	return s.refresh(ctx)
}

func (s *Session) refresh(ctx context.Context) error {
	var t tries
	for {
		v, err := s.look(ctx)
		if err == nil {
			s.adopt(v)
			return nil
		}
		if err := s.retry(ctx, &t, err); err != nil {
			return err
		}
	}
}

// adopt has the session work in a view.
func (s *Session) adopt(v *view) {
	if s.view != v {
		s.view = v
		s.stats.Views++
	}
}

// look READs the board and returns the view of what it says.
func (s *Session) look(ctx context.Context) (*view, error) {
	if err := s.connected(ctx); err != nil {
		return nil, err
	}
	r := s.reader
	if err := r.settle(ctx); err != nil { // a renewal may be on its way
		return nil, err
	}
	s.renewed = 0
	b, t0, err := s.readBoard(ctx)
	if err != nil {
		return nil, err
	}
	if v := s.client.views.of(b.instance, b.generation); v != nil {
		v.seen(t0)
		return v, nil
	}
	return s.readDirectory(ctx, &b, t0)
}

// maxChanging bounds how often the board is read while it changes. It takes some nanoseconds to
// write it; but a server may be stopped in the middle, by others who want its CPU, and then it takes
// milliseconds. So after the first looks there are naps between them.
const (
	quickLooks  = 100
	maxChanging = quickLooks + 400
)

// readBoard READs the board, and returns when that was posted.
func (s *Session) readBoard(ctx context.Context) (b board, t0 int64, err error) {
	r := s.reader
	slot := r.extra(boardSlot)
	for n := range maxChanging {
		if n > quickLooks {
			if err := r.rest(ctx); err != nil {
				return b, t0, err
			}
		}
		t0 = s.clock.Now()
		if err := r.start(slot, r.board, boardSize); err != nil {
			return b, t0, err
		}
		if err := r.await(ctx, slot); err != nil {
			return b, t0, err
		}
		if b, err = parseBoard(r.bytes(slot)); !errors.Is(err, errChanging) {
			break
		}
	}
	switch {
	case errors.Is(err, errChanging):
		err = fmt.Errorf("keli: the two ends of the board differ all the time: %w", kvl.ErrCorrupt)
	case err == nil && b.instance != r.instance:
		err = fmt.Errorf("keli: the board of another server: %w", ErrProtocol)
	}
	return b, t0, err
}

// readDirectory READs the directory of the generation that a board says, posted at t0.
func (s *Session) readDirectory(ctx context.Context, b *board, t0 int64) (*view, error) {
	r := s.reader
	slot := r.extra(directorySlot)
	if err := r.start(slot, b.directory, b.length); err != nil {
		return nil, err
	}
	if err := r.await(ctx, slot); err != nil {
		return nil, err
	}
	now := s.clock.Now()
	if now >= t0+int64(b.lease) {
		return nil, errLate
	}
	d, err := parseDirectory(append([]byte(nil), r.bytes(slot)...), b.generation)
	if err != nil {
		return nil, err
	}
	v, err := newView(b, d)
	if err != nil {
		return nil, err
	}
	v = s.client.views.add(v, now)
	v.seen(t0)
	return v, nil
}

// ready returns when READs in the session's view make sense: there is a connection with the
// server that it is of, and its lease lasts.
func (s *Session) ready(ctx context.Context) error {
	if s.reader == nil || s.calls == nil {
		if err := s.connected(ctx); err != nil {
			return err
		}
	}
	if s.view == nil {
		return s.refresh(ctx)
	}
	now := s.clock.Now()
	if s.view.instance != s.reader.instance || !s.view.lasts(now) {
		return s.rejoin(ctx)
	}
	s.renew(now)
	return nil
}

// rejoin looks whether the generation of the session is still current, after its lease has
// ended. It stays in its view.
func (s *Session) rejoin(ctx context.Context) error {
	var t tries
	for {
		v, err := s.look(ctx)
		if err == nil {
			if v != s.view {
				return s.view.over()
			}
			return nil
		}
		if err := s.retry(ctx, &t, err); err != nil {
			return err
		}
	}
}

// renew posts a READ of the board when half the lease is over (E3), and looks at the one
// that has arrived.
func (s *Session) renew(now int64) {
	r := s.reader
	slot := r.extra(boardSlot)
	if s.renewed != 0 && !slot.reading {
		s.renewal(r.bytes(slot))
	}
	if s.renewed == 0 && s.view.old(now) {
		if r.start(slot, r.board, boardSize) == nil { // an error is in reader.err
			s.renewed = now
		}
	}
}

// renewal is what a READ of the board has brought that was posted beside others.
func (s *Session) renewal(text []byte) {
	t0 := s.renewed
	s.renewed = 0
	b, err := parseBoard(text)
	if err != nil || b.instance != s.view.instance {
		return // the next one will do
	}
	s.stats.Renewals++
	if b.generation == s.view.generation {
		s.view.seen(t0)
	} else if b.generation > s.view.generation { // else another session knows more than this READ
		s.view.replaced.Store(true)
	}
}
