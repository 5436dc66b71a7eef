package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// link is one end of a connection.
type link struct {
	dev   *Device
	qp    *direct.QP
	other *link
}

func connect(a, b *link) {
	a.other, b.other = b, a
	for _, l := range []*link{a, b} {
		l.dev.mu.Lock()
		l.dev.links[l] = struct{}{}
		l.dev.mu.Unlock()
	}
}

// Resolve implements direct.Link.
func (l *link) Resolve(key uint32) (*direct.Window, bool) {
	r := l.other.dev.Export(key, l.other.qp.Domain())
	if r == nil {
		return nil, false
	}
	return &direct.Window{
		Mem: r.Backing.Mem, Addr: r.Addr, Key: r.Key, Access: r.Access, Live: r.Backing.Live,
	}, false
}

// Farewell implements direct.Link.
func (l *link) Farewell() {
	if l.dev.killed.Load() || l.other.dev.killed.Load() {
		return
	}
	l.other.qp.PeerGone(fmt.Errorf("fabric: device %s: %w", l.dev.Name(), fabric.ErrDisconnected))
}

// lost tells the other end that this one died.
func (l *link) lost() {
	l.other.qp.PeerGone(fmt.Errorf("fabric: device %s: %w", l.dev.Name(), fabric.ErrPeerLost))
}

// Release implements direct.Link.
func (l *link) Release() {
	l.dev.mu.Lock()
	delete(l.dev.links, l)
	l.dev.mu.Unlock()
}

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
	if err := d.Open(); err != nil {
		return nil, err
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = fabric.DefaultBacklog
	}
	l := &listener{dev: d, addr: addr, backlog: make(chan *request, cfg.Backlog), closed: make(chan struct{})}
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if d.net.listeners[addr.Name] != nil {
		return nil, fmt.Errorf("fabric: somebody listens at %v already: %w", addr, fabric.ErrInvalid)
	}
	d.net.listeners[addr.Name] = l
	d.mu.Lock()
	d.listeners[l] = struct{}{}
	d.mu.Unlock()
	return l, nil
}

// Addr implements fabric.Listener.
func (l *listener) Addr() fabric.Addr { return l.addr }

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	for {
		select {
		case <-l.closed:
			return nil, fmt.Errorf("fabric: listener at %v: %w", l.addr, fabric.ErrClosed)
		case <-ctx.Done():
			return nil, ctx.Err()
		case r := <-l.backlog:
			if !r.gone() {
				return r, nil
			}
		}
	}
}

// Close implements fabric.Listener.
func (l *listener) Close() error {
	err := fmt.Errorf("fabric: listener at %v: %w", l.addr, fabric.ErrClosed)
	l.once.Do(func() {
		err = nil
		l.dev.net.mu.Lock()
		delete(l.dev.net.listeners, l.addr.Name)
		l.dev.net.mu.Unlock()
		l.dev.mu.Lock()
		delete(l.dev.listeners, l)
		l.dev.mu.Unlock()
		close(l.closed)
	})
	return err
}

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
	link    *link
	private []byte
	err     error
}

// Dial implements fabric.Device.
func (d *Device) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if addr.Fabric != "loop" || cfg.Transport == fabric.UD || len(private) > d.Limits().MaxPrivate {
		return nil, fmt.Errorf("fabric: dial %v by %v with %d bytes of private data (at most %d): %w",
			addr, cfg.Transport, len(private), d.Limits().MaxPrivate, fabric.ErrInvalid)
	}
	d.net.mu.Lock()
	l := d.net.listeners[addr.Name]
	d.net.mu.Unlock()
	if l == nil || d.killed.Load() {
		return nil, fmt.Errorf("fabric: nobody listens at %v: %w", addr, fabric.ErrRefused)
	}
	q, err := direct.NewQP(d.Core, cfg)
	if err != nil {
		return nil, err
	}
	r := &request{from: d, to: l, qp: q, private: slices.Clone(private), answer: make(chan answer, 1)}
	a, err := r.wait(ctx)
	if err != nil {
		q.Abandon()
		return nil, err
	}
	q.Describe(fabric.Peer{Addr: addr.String()}, a.private)
	q.Start(a.link)
	return q, nil
}

// wait offers the request to the listener and waits for the answer.
func (r *request) wait(ctx context.Context) (answer, error) {
	select {
	case r.to.backlog <- r:
	default:
		return answer{}, fmt.Errorf("fabric: the backlog at %v is full: %w", r.to.addr, fabric.ErrRefused)
	}
	select {
	case a := <-r.answer:
		return a, a.err
	case <-r.to.closed:
		if a, ok := r.leave(); ok {
			return a, a.err
		}
		return answer{}, fmt.Errorf("fabric: the listener at %v was closed: %w", r.to.addr, fabric.ErrRefused)
	case <-ctx.Done():
		if a, ok := r.leave(); ok {
			return a, a.err
		}
		return answer{}, fmt.Errorf("fabric: dial %v: %w", r.to.addr, ctx.Err())
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
	q, err := direct.NewQP(d.Core, cfg)
	if err != nil {
		return nil, err
	}
	if err := r.claim(); err != nil {
		q.Abandon()
		return nil, err
	}
	mem := direct.HeapBytes(direct.SegmentBytes(r.qp.RecvDepth(), q.RecvDepth()), pageSize)
	theirs, mine := &link{dev: r.from, qp: r.qp}, &link{dev: d, qp: q}
	r.qp.Attach(mem, direct.Dialer, q.RecvDepth(), q.RecvPipe(), q.SendPipe())
	q.Attach(mem, direct.Acceptor, r.qp.RecvDepth(), r.qp.RecvPipe(), r.qp.SendPipe())
	connect(theirs, mine)
	q.Describe(r.Peer(), r.private)
	q.Start(mine)
	r.answer <- answer{link: theirs, private: slices.Clone(private)}
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
