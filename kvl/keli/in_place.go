package keli

import (
	"context"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// fetch views a record in place if the fabric can, and READs it by start if not. A copy would be of
// no use: an image does not change while its key is valid, nor afterwards under a view (G20). The
// superblock does change, and is always READ.
func (r *reader) fetch(s *slot, from fabric.Remote, n int) error {
	if r.viewer != nil && r.err == nil {
		if b, ok := r.viewer.View(from, n); ok {
			if s.own != nil {
				s.freeOwn()
			}
			s.from, s.n, s.view, s.viewEpoch = from, n, b, r.viewEpoch
			r.viewed = true
			return nil
		}
	}
	return r.start(s, from, n)
}

// prefetchBytes is how much of a record is prefetched: the loads of records that are requested
// together overlap.
const prefetchBytes = 512

// prefetch starts to load the beginning of a view.
func (s *slot) prefetch() {
	const line = 64
	for at := 0; at < min(len(s.view), prefetchBytes); at += line {
		fence.ExpectRead(&s.view[at])
	}
}

// take waits for the bytes of a slot. They are valid until the reader is used again.
func (r *reader) take(ctx context.Context, s *slot) ([]byte, error) {
	if r.viewed {
		r.checkClock()
	}
	if s.view != nil && s.viewEpoch != r.viewEpoch {
		if err := r.fetch(s, s.from, s.n); err != nil {
			return nil, err
		}
		r.arrival = r.clock.Now()
	}
	if s.view != nil {
		return s.view, nil
	}
	if err := r.await(ctx, s); err != nil {
		return nil, err
	}
	return r.bytes(s), nil
}

// pollEvery is how many calls of checkClock poll the fabric at least once, so that it learns of
// regions that were closed and unmaps them.
const pollEvery = 1 << 10

// checkClock reads the clock after memory was viewed. It also polls for READs in flight, which
// nothing waits for.
func (r *reader) checkClock() {
	r.viewed = false
	if r.checks++; r.sqFree != r.sqDepth || r.checks%pollEvery == 0 {
		r.flush()
		r.poll()
	}
	r.arrival = r.clock.Now()
}
