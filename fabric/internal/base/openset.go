package base

import (
	"io"
	"maps"
	"slices"
	"sync"
)

// OpenSet is what a device has to close when it is closed: listeners, or connections
// being made. Its methods may be called from any goroutine.
type OpenSet[T interface {
	comparable
	io.Closer
}] struct {
	mu     sync.Mutex
	open   map[T]struct{}
	closed bool
}

// Add adds x, or closes it and returns false when the set is closed.
func (s *OpenSet[T]) Add(x T) bool {
	s.mu.Lock()
	closed := s.closed
	if s.open == nil {
		s.open = map[T]struct{}{}
	}
	if !closed {
		s.open[x] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		_ = x.Close()
	}
	return !closed
}

// Remove takes x out when it is closed, or another part of the program closes it.
func (s *OpenSet[T]) Remove(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, x)
}

// Close closes everything in the set, and what is added later.
func (s *OpenSet[T]) Close() {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, x := range open {
		_ = x.Close()
	}
}
