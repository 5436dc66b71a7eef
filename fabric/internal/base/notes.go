package base

import (
	"sync"
	"sync/atomic"
)

// Notes are what other goroutines ask the owner of a completion queue to do.
type Notes struct {
	// Asleep is not 0 while a waiter of the owner sleeps.
	Asleep atomic.Uint32
	noted  atomic.Uint32
	Pipe   *WakePipe // ends the sleep

	mu     sync.Mutex
	list   []func()
	closed bool
}

// Noted reports whether there is something to Attend to.
func (n *Notes) Noted() bool { return n.noted.Load() != 0 }

// Note has the owner call f on its next poll, and wakes it. After CloseNotes it
// returns false.
func (n *Notes) Note(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.list = append(n.list, f)
	n.noted.Store(1)
	if n.Asleep.Load() != 0 {
		n.Pipe.Wake()
	}
	return true
}

// Attend calls what was noted.
func (n *Notes) Attend() {
	for n.noted.Swap(0) != 0 {
		n.mu.Lock()
		list := n.list
		n.list = nil
		n.mu.Unlock()
		for _, f := range list {
			f()
		}
	}
}

// CloseNotes closes the pipe and returns what was noted last.
func (n *Notes) CloseNotes() []func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.Pipe.Close()
	return n.list
}
