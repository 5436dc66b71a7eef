package keli

import (
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// keeper is the goroutine that gives the memory of old generations back.
type keeper struct {
	waiter fabric.Waiter
	ended  chan struct{}
	wg     sync.WaitGroup
}

// keeperNap bounds how long the keeper waits without a look at the clock.
const keeperNap = time.Second

func (k *keeper) start(s *Server) (err error) {
	if k.waiter, err = s.cfg.Device.NewWaiter(fabric.WaitConfig{Spin: time.Nanosecond}); err != nil {
		return err
	}
	k.ended = make(chan struct{})
	nap := min(s.cfg.Lease/4, keeperNap)
	k.wg.Go(func() {
		for {
			left := s.sweep()
			select {
			case <-k.ended:
				return
			default:
			}
			if left == 0 {
				k.waiter.Wait(nothing, 0)
			} else {
				k.waiter.Wait(nothing, nap)
			}
		}
	})
	return nil
}

func nothing() bool { return false }

// wake has the keeper look at what is old.
func (k *keeper) wake() { k.waiter.Wake() }

func (k *keeper) stop() {
	if k.ended == nil {
		return
	}
	close(k.ended)
	k.waiter.Wake()
	k.wg.Wait()
	_ = k.waiter.Close()
}

// leaver is a generation that lookups do not find any more, and what the turnstiles of the
// cores said then (E5).
type leaver struct {
	*generation
	seen []uint64
}

// sweep gives the memory of generations back that nobody can use any more, and returns
// how many are left that are old. One sweep waits for another, so that what is not left has
// been given back: whoever builds the next image may need that memory.
func (s *Server) sweep() int {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	gone, left := s.expired()
	for _, g := range gone {
		if err := g.close(); err != nil {
			s.cfg.Log.Error("memory of a generation was not given back", "generation", g.number(), "err", err)
		}
		s.cfg.Log.Debug("generation over", "generation", g.number())
	}
	return left
}

// expired returns the generations that nobody can use any more.
func (s *Server) expired() (gone []*generation, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0
	}
	s.dismiss()
	s.leaving = slices.DeleteFunc(s.leaving, func(l leaver) bool {
		for i, seen := range l.seen {
			if !s.cores[i].passed(seen) {
				return false
			}
		}
		gone = append(gone, l.generation)
		return true
	})
	return gone, len(s.old) + len(s.leaving)
}

// dismiss takes the generations out of the lineup whose time is over (E2).
func (s *Server) dismiss() {
	now, n := s.clock.Now(), 0
	for n < len(s.old) && s.old[n].over <= now {
		n++
	}
	if n == 0 {
		return
	}
	was := *s.lineup.Load()
	line := slices.Clone(was[:len(was)-n])
	s.lineup.Store(&line)
	seen := make([]uint64, len(s.cores))
	for i := range s.cores {
		seen[i] = s.cores[i].passes.Load()
	}
	for _, g := range s.old[:n] {
		s.leaving = append(s.leaving, leaver{g, seen})
	}
	s.old = slices.Delete(s.old, 0, n)
}
