package base

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
)

// Life is the state of a queue pair and why it is not ready. It is ready first, and
// falls once. All methods may be called from any goroutine.
type Life struct {
	state  atomic.Uint32
	done   chan struct{}
	mu     sync.Mutex
	reason error
}

// Begin must be called before all else.
func (l *Life) Begin() { l.done = make(chan struct{}) }

// Ready reports whether requests are executed.
func (l *Life) Ready() bool { return l.state.Load() == uint32(fabric.StateReady) }

// State implements fabric.QP.
func (l *Life) State() fabric.State { return fabric.State(l.state.Load()) }

// SetState sets StateClosed, or StateError when closing has failed, after Fall.
func (l *Life) SetState(s fabric.State) { l.state.Store(uint32(s)) }

// Done implements fabric.QP.
func (l *Life) Done() <-chan struct{} { return l.done }

// Err implements fabric.QP.
func (l *Life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}

// Fall leaves StateReady, for the given reason. It reports whether it did.
func (l *Life) Fall(reason error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reason != nil {
		return false
	}
	l.reason = reason
	l.state.Store(uint32(fabric.StateError))
	close(l.done)
	return true
}

// Explain replaces the reason, if it is one of vague, by a better one.
func (l *Life) Explain(reason error, vague ...error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(vague, func(v error) bool { return errors.Is(l.reason, v) }) {
		l.reason = reason
	}
}
