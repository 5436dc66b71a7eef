package keli

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// Refresh moves the session to the current generation.
func (s *Session) Refresh(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	return s.refresh(ctx)
}

func (s *Session) refresh(ctx context.Context) error {
	var t attempts
	for {
		v, err := s.current(ctx)
		if err == nil {
			s.adopt(v)
			return nil
		}
		if err := s.retry(ctx, &t, err); err != nil {
			return err
		}
	}
}

// adopt makes the session work in a snapshot.
func (s *Session) adopt(v *snapshot) {
	if s.snapshot != v {
		s.snapshot = v
		s.stats.Snapshots++
	}
}

// current READs the superblock and returns the snapshot of the generation that it names.
func (s *Session) current(ctx context.Context) (*snapshot, error) {
	if err := s.connected(ctx); err != nil {
		return nil, err
	}
	r := s.reader
	if err := r.drain(ctx); err != nil { // a renewal may be in flight
		return nil, err
	}
	s.renewPosted = 0
	b, t0, err := s.readSuperblock(ctx)
	if err != nil {
		return nil, err
	}
	if v := s.client.snapshots.of(b.instance, b.generation); v != nil {
		v.extend(t0)
		return v, nil
	}
	return s.readDirectory(ctx, &b, t0)
}

// maxChanging bounds how often the superblock is READ while it changes. To write it takes
// nanoseconds, but milliseconds if the server is preempted in between. So a session pauses between
// attempts after the first quickReads.
const (
	quickReads  = 100
	maxChanging = quickReads + 400
)

// readSuperblock READs the superblock, and returns when the READ was posted.
func (s *Session) readSuperblock(ctx context.Context) (b superblock, t0 int64, err error) {
	r := s.reader
	slot := r.extra(superblockSlot)
	for n := range maxChanging {
		if n > quickReads {
			if err := r.pause(ctx); err != nil {
				return b, t0, err
			}
		}
		t0 = s.clock.Now()
		if err := r.start(slot, r.superblock, superblockSize); err != nil {
			return b, t0, err
		}
		if err := r.await(ctx, slot); err != nil {
			return b, t0, err
		}
		if b, err = parseSuperblock(r.bytes(slot)); !errors.Is(err, errChanging) {
			break
		}
	}
	switch {
	case errors.Is(err, errChanging):
		err = fmt.Errorf("keli: superblock has a wrong checksum, READ after READ: %w", kvl.ErrCorrupt)
	case err == nil && b.instance != r.instance:
		err = fmt.Errorf("keli: superblock of another server: %w", ErrProtocol)
	}
	return b, t0, err
}

// readDirectory READs the directory that a superblock names, which was READ at t0.
func (s *Session) readDirectory(ctx context.Context, b *superblock, t0 int64) (*snapshot, error) {
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
	v, err := newSnapshot(b, d)
	if err != nil {
		return nil, err
	}
	v = s.client.snapshots.add(v, now)
	v.extend(t0)
	return v, nil
}

// ready returns when READs in the session's snapshot make sense: there is a connection with the same
// start of the server, and the lease has not ended.
func (s *Session) ready(ctx context.Context) error {
	if s.reader == nil || s.calls == nil {
		if err := s.connected(ctx); err != nil {
			return err
		}
	}
	if s.snapshot == nil {
		return s.refresh(ctx)
	}
	now := s.clock.Now()
	if s.snapshot.instance != s.reader.instance || !s.snapshot.valid(now) {
		return s.revalidate(ctx)
	}
	s.renew(now)
	return nil
}

// revalidate checks whether the generation of the session is still current, after its lease has
// ended. The session stays in its snapshot.
func (s *Session) revalidate(ctx context.Context) error {
	var t attempts
	for {
		v, err := s.current(ctx)
		if err == nil {
			if v != s.snapshot {
				return s.snapshot.expired()
			}
			return nil
		}
		if err := s.retry(ctx, &t, err); err != nil {
			return err
		}
	}
}

// renew posts a READ of the superblock when half of the lease is over (E3), and uses the one that
// has arrived.
func (s *Session) renew(now int64) {
	r := s.reader
	slot := r.extra(superblockSlot)
	if s.renewPosted != 0 && !slot.reading {
		s.renewed(r.bytes(slot))
	}
	if s.renewPosted == 0 && s.snapshot.renewable(now) {
		if r.start(slot, r.superblock, superblockSize) == nil { // an error is in reader.err
			s.renewPosted = now
		}
	}
}

// renewed uses the superblock that a READ of renew has brought.
func (s *Session) renewed(text []byte) {
	t0 := s.renewPosted
	s.renewPosted = 0
	b, err := parseSuperblock(text)
	if err != nil || b.instance != s.snapshot.instance {
		return // the next one will do
	}
	s.stats.Renewals++
	if b.generation == s.snapshot.generation {
		s.snapshot.extend(t0)
	} else if b.generation > s.snapshot.generation { // else another session has seen a newer one
		s.snapshot.replaced.Store(true)
	}
}
