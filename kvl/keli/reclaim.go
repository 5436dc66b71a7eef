package keli

import (
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// reclaimer is the goroutine that gives back the memory of old generations.
type reclaimer struct {
	waiter fabric.Waiter
	ended  chan struct{}
	wg     sync.WaitGroup
}

// reclaimInterval bounds how long the reclaimer waits before it checks the clock again.
const reclaimInterval = time.Second

func (k *reclaimer) start(s *Server) (err error) {
	if k.waiter, err = s.cfg.Device.NewWaiter(fabric.WaitConfig{Spin: time.Nanosecond}); err != nil {
		return err
	}
	k.ended = make(chan struct{})
	pause := min(s.cfg.Lease/4, reclaimInterval)
	k.wg.Go(func() {
		for {
			left := s.reclaim()
			select {
			case <-k.ended:
				return
			default:
			}
			if left == 0 {
				k.waiter.Wait(nothing, 0)
			} else {
				k.waiter.Wait(nothing, pause)
			}
		}
	})
	return nil
}

func nothing() bool { return false }

// wake makes the reclaimer check the old generations.
func (k *reclaimer) wake() { k.waiter.Wake() }

func (k *reclaimer) stop() {
	if k.ended == nil {
		return
	}
	close(k.ended)
	k.waiter.Wake()
	k.wg.Wait()
	_ = k.waiter.Close()
}

// retired is a generation that lookups do not find any more, and the epochs of the cores when
// it was taken off the list (E5).
type retired struct {
	*generation
	seen []uint64
}

// reclaim gives back the memory of generations that neither a client nor a core can use any more,
// and returns how many old ones remain. Concurrent calls wait for each other: when one returns,
// the memory has been given back, and the next image can use it.
func (s *Server) reclaim() int {
	s.reclaiming.Lock()
	defer s.reclaiming.Unlock()
	gone, left := s.unused()
	for _, g := range gone {
		if err := g.close(); err != nil {
			s.cfg.Log.Error("memory of a generation was not given back", "generation", g.number(), "err", err)
		}
		s.cfg.Log.Debug("generation over", "generation", g.number())
	}
	return left
}

// unused returns the generations that neither a client nor a core can use any more.
func (s *Server) unused() (gone []*generation, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0
	}
	s.retireOld()
	s.retired = slices.DeleteFunc(s.retired, func(l retired) bool {
		for i, seen := range l.seen {
			if !s.epochs[i].quiet(seen) {
				return false
			}
		}
		gone = append(gone, l.generation)
		return true
	})
	return gone, len(s.old) + len(s.retired)
}

// retireOld takes the generations off the list whose time is over (E2).
func (s *Server) retireOld() {
	now, n := s.clock.Now(), 0
	for n < len(s.old) && s.old[n].reusable <= now {
		n++
	}
	if n == 0 {
		return
	}
	was := *s.published.Load()
	line := slices.Clone(was[:len(was)-n])
	seen := epochsAfter(s.epochs, func() { s.published.Store(&line) })
	for _, g := range s.old[:n] {
		s.retired = append(s.retired, retired{g, seen})
	}
	s.old = slices.Delete(s.old, 0, n)
}
