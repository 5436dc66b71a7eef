package keli

import (
	"context"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// look is start for a record, which may be left where it is: an image does not change while a
// key opens it, nor afterwards under a view (G20), so that it is of no use to copy it. Not so
// for the board, which changes under whoever looks at it.
func (r *reader) look(s *slot, from fabric.Remote, n int) error {
	if r.viewer != nil && r.err == nil {
		if b, ok := r.viewer.View(from, n); ok {
			if s.own != nil {
				s.disown()
			}
			s.from, s.n, s.view, s.turn = from, n, b, r.turn
			r.looked = true
			return nil
		}
	}
	return r.start(s, from, n)
}

// loadedAhead is how much of a record is loaded before its turn: the loads of those that are
// asked for together overlap.
const loadedAhead = 512

// expect starts to load the beginning of a view.
func (s *slot) expect() {
	const line = 64
	for at := 0; at < min(len(s.view), loadedAhead); at += line {
		fence.ExpectRead(&s.view[at])
	}
}

// take waits for the bytes of a slot, valid until the reader is used again.
func (r *reader) take(ctx context.Context, s *slot) ([]byte, error) {
	if r.looked {
		r.glance()
	}
	if s.view != nil && s.turn != r.turn {
		if err := r.look(s, s.from, s.n); err != nil {
			return nil, err
		}
		r.landing = r.clock.Now()
	}
	if s.view != nil {
		return s.view, nil
	}
	if err := r.await(ctx, s); err != nil {
		return nil, err
	}
	return r.bytes(s), nil
}

// pollEvery is in how many glances the fabric is polled at least: so it learns of memory that is
// not there any more, and gives it back.
const pollEvery = 1 << 10

// glance looks at the clock, after memory was looked at, and for READs that are on their way:
// nobody waits for any.
func (r *reader) glance() {
	r.looked = false
	if r.glances++; r.free != r.places || r.glances%pollEvery == 0 {
		r.flush()
		r.poll()
	}
	r.landing = r.clock.Now()
}
