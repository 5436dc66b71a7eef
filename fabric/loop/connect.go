package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// request is a dialer that waits for its answer.
type request struct {
	from    *Device
	to      *listener
	qp      *direct.QP
	private []byte

	mu      sync.Mutex
	ended   bool // claimed, or the dialer has gone away
	claimed bool // answered, or about to be
	answer  chan answer
}

type answer struct {
	control *control
	private []byte
	err     error
}

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if addr.Fabric != "loop" || cfg.Transport == fabric.UD || len(private) > d.Limits().MaxPrivate {
		return nil, fmt.Errorf("fabric: dial %v by %v with %d bytes of private data (at most %d): %w",
			addr, cfg.Transport, len(private), d.Limits().MaxPrivate, fabric.ErrInvalid)
	}
	if err := addr.CheckOptions(); err != nil {
		return nil, err
	}
	d.net.mu.Lock()
	l := d.net.listeners[addr.Name]
	d.net.mu.Unlock()
	if l == nil || d.killed.Load() {
		return nil, &fabric.DialError{Addr: addr, Err: fmt.Errorf("no server listens there: %w", fabric.ErrRefused)}
	}
	q, err := direct.NewQP(d.core, cfg)
	if err != nil {
		return nil, err
	}
	r := &request{from: d, to: l, qp: q, private: slices.Clone(private), answer: make(chan answer, 1)}
	a, err := r.wait(ctx)
	if err != nil {
		q.Abandon()
		return nil, &fabric.DialError{Addr: addr, Err: err}
	}
	q.Describe(fabric.Peer{Addr: addr.String()}, a.private)
	q.Start(a.control)
	return q, nil
}

// wait offers the request to the listener and waits for the answer.
func (r *request) wait(ctx context.Context) (answer, error) {
	select {
	case r.to.backlog <- r:
	default:
		return answer{}, fmt.Errorf("the backlog is full: %w", fabric.ErrRefused)
	}
	select {
	case a := <-r.answer:
		return a, a.err
	case <-r.to.closed:
		if a, ok := r.leave(); ok {
			return a, a.err
		}
		return answer{}, fmt.Errorf("the listener was closed: %w", fabric.ErrRefused)
	case <-ctx.Done():
		if a, ok := r.leave(); ok {
			return a, a.err
		}
		return answer{}, ctx.Err()
	}
}

// leave ends the request from the dialer's side; ok when the answer was
// already there.
func (r *request) leave() (a answer, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return <-r.answer, true
	}
	r.ended = true
	return answer{}, false
}

func (r *request) gone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended || r.from.killed.Load()
}

// claim takes the right to answer the dialer, which must then be done.
func (r *request) claim() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.claimed:
		return fmt.Errorf("fabric: the request of %s was answered before: %w", r.Peer().Addr, fabric.ErrClosed)
	case r.ended || r.from.killed.Load():
		return fmt.Errorf("fabric: %s has gone away: %w", r.Peer().Addr, fabric.ErrPeerLost)
	}
	r.claimed, r.ended = true, true
	return nil
}
