package serving

import "sync"

// Reaper closes what it is given, one after the other, on its own goroutine: unmapping takes
// long enough to be felt by the other clients of a core. Take may
// be called by any goroutine until Close.
type Reaper[T any] struct {
	free func(T)
	mu   sync.Mutex
	work []T
	kick chan struct{}
	done chan struct{}
}

// NewReaper returns a reaper that frees by calling free.
func NewReaper[T any](free func(T)) *Reaper[T] {
	r := &Reaper[T]{free: free, kick: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// Take frees t soon.
func (r *Reaper[T]) Take(t T) {
	r.mu.Lock()
	r.work = append(r.work, t)
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// Close frees the rest and ends the goroutine.
func (r *Reaper[T]) Close() {
	close(r.kick)
	<-r.done
}

func (r *Reaper[T]) run() {
	defer close(r.done)
	for range r.kick {
		r.reap()
	}
	r.reap()
}

func (r *Reaper[T]) reap() {
	r.mu.Lock()
	work := r.work
	r.work = nil
	r.mu.Unlock()
	for _, t := range work {
		r.free(t)
	}
}
