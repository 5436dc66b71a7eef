package keli

import (
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/kvl"
)

// Build makes the image of a generation. The server sets Generation and Memory of cfg, and Build
// passes them on to kvl.NewBuilder, with the other settings as it likes. The server owns the
// image from then on.
type Build func(cfg kvl.Config) (*kvl.Image, error)

// Publish builds the next generation beside the current one, and makes it current. If the build
// fails, or the server has too many generations (ErrFull), the current one stays, and the error
// says why (E6). Concurrent calls build one after the other.
func (s *Server) Publish(build Build) error {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	s.mu.Lock()
	s.stats.building = true
	s.mu.Unlock()
	began := s.clock.Now()
	number := s.next
	err := s.publish(number, build)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("keli: generation %d was not published: %w", number, err)
		s.stats.failed(err)
		s.cfg.Log.Error("generation failed", "generation", number, "err", err)
		return err
	}
	s.stats.published(s.clock.Now() - began)
	st := (*s.published.Load())[0].image.Stats()
	s.cfg.Log.Info("generation published", "generation", number, "items", st.Items, "links", st.Links, "bytes", st.Bytes)
	return nil
}

func (s *Server) publish(number uint64, build Build) error {
	if err := s.room(); err != nil {
		return err
	}
	s.next++
	img, err := build(kvl.Config{Generation: number, Memory: s.exporters[0].memory})
	if err != nil {
		return err
	}
	g := &generation{image: img}
	if img.Generation() != number {
		return errors.Join(fmt.Errorf("the image has generation %d: %w", img.Generation(), ErrInvalid), g.close())
	}
	for _, p := range s.exporters {
		st, err := p.export(img)
		if err != nil {
			return errors.Join(err, g.close())
		}
		g.exports = append(g.exports, st)
	}
	return s.swap(g)
}

// room returns an error if the server can have no other generation.
func (s *Server) room() error {
	s.reclaim()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := len(*s.published.Load()); {
	case s.closed:
		return ErrClosed
	case n >= s.cfg.Generations:
		wait := time.Duration(s.old[0].reusable - s.clock.Now())
		return fmt.Errorf("%w: %d, and the lease of the oldest ends in %v", ErrFull, n, max(wait, 0))
	}
	return nil
}

// swap makes a generation current. Lookups find it before the superblocks name it, because a
// client that reads its number there may ask for it.
func (s *Server) swap(g *generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(ErrClosed, g.close())
	}
	was := *s.published.Load()
	line := append(generations{g}, was...)
	s.published.Store(&line)
	for i, p := range s.exporters {
		b := superblock{
			generation: g.number(), directory: g.exports[i].directory.Remote(), length: g.exports[i].length,
			lease: s.cfg.Lease, instance: s.instance,
		}
		b.publish(p.superblock.Bytes())
	}
	if len(was) != 0 {
		was[0].reusable = s.clock.Now() + int64(s.cfg.keep()) // after the last superblock was written (E2)
		s.old = append(s.old, was[0])
		s.reclaimer.wake()
	}
	return nil
}

// Generation returns the number of the current generation, 0 if there is none.
func (s *Server) Generation() uint64 {
	line := *s.published.Load()
	if len(line) == 0 {
		return 0
	}
	return line[0].number()
}
