package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

type listener struct {
	dev     *Device
	addr    fabric.Addr
	backlog chan *request
	once    sync.Once
	closed  chan struct{}
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if addr.Fabric != "loop" || addr.Name == "" {
		return nil, fmt.Errorf("fabric: %v is not an address of the loop fabric: %w", addr, fabric.ErrInvalid)
	}
	if err := errors.Join(addr.CheckOptions(), d.Open()); err != nil {
		return nil, err
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = fabric.DefaultBacklog
	}
	l := &listener{dev: d, addr: addr, backlog: make(chan *request, cfg.Backlog), closed: make(chan struct{})}
	d.net.mu.Lock()
	taken := d.net.listeners[addr.Name] != nil
	if !taken {
		d.net.listeners[addr.Name] = l
	}
	d.net.mu.Unlock()
	switch {
	case taken:
		return nil, fmt.Errorf("fabric: listen at %v: another listener has the address: %w", addr, fabric.ErrBusy)
	case !d.listeners.Add(l):
		return nil, l.errClosed()
	}
	return l, nil
}

// Addr implements fabric.Listener.
func (l *listener) Addr() fabric.Addr { return l.addr }

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	for {
		select {
		case <-l.closed:
			return nil, l.errClosed()
		case <-ctx.Done():
			return nil, ctx.Err()
		case r := <-l.backlog:
			if !r.gone() {
				return r, nil
			}
		}
	}
}

func (l *listener) errClosed() error {
	return fmt.Errorf("fabric: listener at %v: %w", l.addr, fabric.ErrClosed)
}

// Close implements fabric.Listener.
func (l *listener) Close() error {
	err := l.errClosed()
	l.once.Do(func() {
		err = nil
		l.dev.net.mu.Lock()
		delete(l.dev.net.listeners, l.addr.Name)
		l.dev.net.mu.Unlock()
		l.dev.listeners.Remove(l)
		close(l.closed)
	})
	return err
}

// Transport implements fabric.ConnRequest.
func (r *request) Transport() fabric.Transport { return r.qp.Transport() }

// Private implements fabric.ConnRequest.
func (r *request) Private() []byte { return r.private }

// Peer implements fabric.ConnRequest.
func (r *request) Peer() fabric.Peer { return fabric.Peer{Addr: "loop:" + r.from.Name()} }

// Accept implements fabric.ConnRequest.
func (r *request) Accept(_ context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	d := r.to.dev
	if cfg.Transport != r.Transport() || len(private) > d.Limits().MaxPrivate {
		return nil, fmt.Errorf("fabric: accept a %v request by %v with %d bytes of private data (at most %d): %w",
			r.Transport(), cfg.Transport, len(private), d.Limits().MaxPrivate, fabric.ErrInvalid)
	}
	q, err := direct.NewQP(d.core, cfg)
	if err != nil {
		return nil, err
	}
	if err := r.claim(); err != nil {
		q.Abandon()
		return nil, err
	}
	mem := direct.HeapBytes(direct.SegmentBytes(r.qp.RecvDepth(), q.RecvDepth()), pageSize)
	theirs, mine := &control{dev: r.from, qp: r.qp}, &control{dev: d, qp: q}
	r.qp.Attach(mem, direct.Dialer, q.RecvDepth(), q.RecvPipe(), q.SendPipe())
	q.Attach(mem, direct.Acceptor, r.qp.RecvDepth(), r.qp.RecvPipe(), r.qp.SendPipe())
	connect(theirs, mine)
	q.Describe(r.Peer(), r.private)
	q.Start(mine)
	r.answer <- answer{control: theirs, private: slices.Clone(private)}
	return q, nil
}

// Reject implements fabric.ConnRequest.
func (r *request) Reject(private []byte) error {
	if err := r.claim(); err != nil {
		return err
	}
	r.answer <- answer{err: &fabric.RejectedError{Private: slices.Clone(private)}}
	return nil
}
