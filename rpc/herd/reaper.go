package herd

import "sync"

// reaper gives back the memory of tenants that are over: unmapping takes long
// enough to be felt by the clients of a core.
type reaper struct {
	mu   sync.Mutex
	work []*tenant
	kick chan struct{}
	done chan struct{}
}

func newReaper() *reaper {
	r := &reaper{kick: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

func (r *reaper) take(t *tenant) {
	r.mu.Lock()
	r.work = append(r.work, t)
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

func (r *reaper) run() {
	defer close(r.done)
	for range r.kick {
		r.reap()
	}
	r.reap()
}

func (r *reaper) reap() {
	r.mu.Lock()
	work := r.work
	r.work = nil
	r.mu.Unlock()
	for _, t := range work {
		t.free()
	}
}

// close reaps what is left.
func (r *reaper) close() {
	close(r.kick)
	<-r.done
}
