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

// Publish builds the next generation beside the current one, and makes it current. If it
// cannot be built, or there are too many (ErrFull), the one that is current stays, and the
// error says why (E6). Only one is built at a time; others wait.
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
	st := (*s.lineup.Load())[0].image.Stats()
	s.cfg.Log.Info("generation published", "generation", number, "items", st.Items, "links", st.Links, "bytes", st.Bytes)
	return nil
}

func (s *Server) publish(number uint64, build Build) error {
	if err := s.room(); err != nil {
		return err
	}
	s.next++
	img, err := build(kvl.Config{Generation: number, Memory: s.places[0].memory})
	if err != nil {
		return err
	}
	g := &generation{image: img}
	if img.Generation() != number {
		return errors.Join(fmt.Errorf("the image says that it is %d: %w", img.Generation(), ErrInvalid), g.close())
	}
	for _, p := range s.places {
		st, err := p.setUp(img)
		if err != nil {
			return errors.Join(err, g.close())
		}
		g.stands = append(g.stands, st)
	}
	return s.swap(g)
}

// room says whether there can be another generation.
func (s *Server) room() error {
	s.sweep()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch n := len(*s.lineup.Load()); {
	case s.closed:
		return ErrClosed
	case n >= s.cfg.Generations:
		wait := time.Duration(s.old[0].over - s.clock.Now())
		return fmt.Errorf("%w: %d, and the oldest is needed for %v more", ErrFull, n, max(wait, 0))
	}
	return nil
}

// swap makes a generation current. Lookups know it before the boards say so, because who
// reads it there may ask for it.
func (s *Server) swap(g *generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Join(ErrClosed, g.close())
	}
	was := *s.lineup.Load()
	line := append(lineup{g}, was...)
	s.lineup.Store(&line)
	for i, p := range s.places {
		b := board{
			generation: g.number(), directory: g.stands[i].directory.Remote(), length: g.stands[i].length,
			lease: s.cfg.Lease, instance: s.instance,
		}
		b.publish(p.board.Bytes())
	}
	if len(was) != 0 {
		was[0].over = s.clock.Now() + int64(s.cfg.keep()) // after the last board was written (E2)
		s.old = append(s.old, was[0])
		s.keeper.wake()
	}
	return nil
}

// Generation returns the number of the current generation, 0 if there is none.
func (s *Server) Generation() uint64 {
	line := *s.lineup.Load()
	if len(line) == 0 {
		return 0
	}
	return line[0].number()
}
