//go:build rdma

package verbs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// acceptPause is how long to wait when the process has no descriptors left.
const acceptPause = 10 * time.Millisecond

// listener implements fabric.Listener.
type listener struct {
	dev      *Device
	l        *net.TCPListener
	addr     fabric.Addr
	timeout  time.Duration
	requests chan *connRequest
	greeters chan struct{} // a token each: the limit of what silent peers can occupy
	closed   chan struct{}
	once     sync.Once
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if err := d.checkAddr(addr); err != nil {
		return nil, err
	}
	if cfg.Backlog < 0 || cfg.HandshakeTimeout < 0 {
		return nil, fmt.Errorf("fabric: verbs: listen: backlog %d, handshake timeout %v: %w",
			cfg.Backlog, cfg.HandshakeTimeout, fabric.ErrInvalid)
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = fabric.DefaultBacklog
	}
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = fabric.DefaultHandshake
	}
	var lc net.ListenConfig
	nl, err := lc.Listen(context.Background(), "tcp", addr.Name)
	if err != nil {
		return nil, listenError(addr, err)
	}
	l := &listener{
		dev: d, l: nl.(*net.TCPListener), timeout: cfg.HandshakeTimeout, //nolint:errcheck // what network tcp gives
		addr:     fabric.Addr{Fabric: "rdma", Name: nl.Addr().String(), Options: addr.Options},
		requests: make(chan *connRequest, cfg.Backlog),
		greeters: make(chan struct{}, max(4*cfg.Backlog, 256)),
		closed:   make(chan struct{}),
	}
	d.mu.Lock()
	gone := d.closed || d.killed.Load()
	if !gone {
		d.listeners[l] = struct{}{}
	}
	d.mu.Unlock()
	if gone {
		_ = nl.Close()
		return nil, d.errClosed()
	}
	go l.run()
	return l, nil
}

// listenError says what to do.
func listenError(addr fabric.Addr, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		hint = "; another process listens there (ss -ltnp shows which): stop it, or choose another port, or port 0 for any free one"
	case errors.Is(err, unix.EADDRNOTAVAIL):
		hint = "; this host has no such address (ip addr shows which it has)"
	case errors.Is(err, unix.EACCES):
		hint = "; ports below 1024 need a privilege: choose a higher one"
	}
	return fmt.Errorf("fabric: verbs: listen at %v: %w%s", addr, err, hint)
}

// run takes connections from the kernel.
func (l *listener) run() {
	for {
		c, err := l.l.AcceptTCP()
		switch {
		case err == nil:
			l.welcome(c)
		case l.isClosed() || errors.Is(err, net.ErrClosed):
			return
		default:
			l.pause()
		}
	}
}

// welcome lets a connection say hello, if not too many do.
func (l *listener) welcome(c *net.TCPConn) {
	select {
	case l.greeters <- struct{}{}:
	default:
		_ = c.Close()
		return
	}
	h, err := l.dev.begin(c)
	if err != nil {
		<-l.greeters
		return
	}
	go func() {
		defer func() { <-l.greeters }()
		l.greet(h)
	}()
}

func (l *listener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

func (l *listener) pause() {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.closed:
	}
}

// greet hears the hello of one connection, which may be anybody's.
func (l *listener) greet(h *halfOpen) {
	_ = h.c.SetDeadline(until(l.timeout))
	var buf [maxBody]byte
	k, body, err := readMessage(h.c, &buf)
	if err == nil && k != kindHello {
		err = violation("the first message must be hello")
	}
	var m hello
	if err == nil {
		m, err = decodeHello(body)
	}
	if err != nil {
		if errors.Is(err, fabric.ErrProtocol) {
			h.refuse(err.Error())
		}
		h.abandon()
		return
	}
	_ = h.c.SetDeadline(time.Time{}) // the program may think as long as it likes
	r := &connRequest{l: l, half: h, hello: m}
	select {
	case l.requests <- r:
		// Close may have emptied the backlog just before.
		if l.isClosed() {
			l.refuseAll()
		}
	default:
		r.refuse("the server's backlog is full; try again later")
	}
}

// Addr implements fabric.Listener.
func (l *listener) Addr() fabric.Addr { return l.addr }

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	if l.isClosed() {
		return nil, l.errClosed()
	}
	select {
	case r := <-l.requests:
		return r, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("fabric: verbs: accept at %v: %w", l.addr, ctx.Err())
	case <-l.closed:
		return nil, l.errClosed()
	}
}

func (l *listener) errClosed() error {
	return fmt.Errorf("fabric: verbs: listener at %v: %w", l.addr, fabric.ErrClosed)
}

// Close implements fabric.Listener.
func (l *listener) Close() error {
	err := l.errClosed()
	l.once.Do(func() {
		close(l.closed)
		err = l.l.Close()
		l.dev.mu.Lock()
		delete(l.dev.listeners, l)
		l.dev.mu.Unlock()
		l.refuseAll()
	})
	return err
}

// refuseAll refuses what waits.
func (l *listener) refuseAll() {
	for {
		select {
		case r := <-l.requests:
			r.refuse("the server has stopped listening")
		default:
			return
		}
	}
}

// connRequest implements fabric.ConnRequest.
type connRequest struct {
	l        *listener
	half     *halfOpen
	hello    hello
	answered atomic.Bool
}

// Transport implements fabric.ConnRequest.
func (r *connRequest) Transport() fabric.Transport { return r.hello.transport }

// Private implements fabric.ConnRequest.
func (r *connRequest) Private() []byte { return r.hello.end.private }

// Peer implements fabric.ConnRequest.
func (r *connRequest) Peer() fabric.Peer { return fabric.Peer{Addr: r.half.c.RemoteAddr().String()} }

func (r *connRequest) errAnswered() error {
	return fmt.Errorf("fabric: verbs: the request of %s was answered before: %w", r.half.c.RemoteAddr(), fabric.ErrClosed)
}

// Accept implements fabric.ConnRequest.
func (r *connRequest) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if err := checkPrivate(private); err != nil {
		return nil, err
	}
	if cfg.Transport != r.hello.transport {
		return nil, fmt.Errorf("fabric: verbs: the peer asks for %v, not %v: %w", r.hello.transport, cfg.Transport, fabric.ErrInvalid)
	}
	d := r.half.dev
	q, err := d.newConnected(cfg)
	if err != nil {
		return nil, err
	}
	if r.answered.Swap(true) {
		q.abandon()
		return nil, r.errAnswered()
	}
	err = r.connect(ctx, q, private)
	if err == nil {
		r.half.finish()
		if err = d.startLink(q, r.half.c); err == nil {
			return q, nil
		}
	}
	r.half.abandon()
	q.abandon()
	if ctx.Err() != nil {
		err = ctx.Err()
	} else {
		err = fmt.Errorf("%w: %w", err, fabric.ErrPeerLost)
	}
	return nil, fmt.Errorf("fabric: verbs: accepting %s: %w", r.half.c.RemoteAddr(), err)
}

// connect answers the dialer and waits until it can receive.
func (r *connRequest) connect(ctx context.Context, q *QP, private []byte) error {
	h := r.half
	_ = h.c.SetDeadline(until(r.l.timeout))
	stop := h.bounded(ctx)
	defer stop()
	q.peer, q.peerPrivate = r.Peer(), r.hello.end.private
	m, err := r.manager()
	if err != nil {
		h.refuse(err.Error())
		return err
	}
	if m != nil {
		err = r.answerManaged(ctx, q, m, private)
	} else {
		err = r.answer(q, private)
	}
	if err != nil {
		return err
	}
	if !stop() {
		return ctx.Err()
	}
	return h.c.SetDeadline(time.Time{})
}

// manager returns the connection manager if it is to be used.
func (r *connRequest) manager() (*manager, error) {
	d := r.half.dev
	if !r.hello.managed {
		if d.cm == "on" && r.hello.transport == fabric.RC {
			return nil, fmt.Errorf("the client has no connection manager, and the server insists on it: %w", fabric.ErrUnsupported)
		}
		return nil, nil
	}
	return d.managerFor(r.hello.transport)
}

// answer connects by the numbers in the hellos.
func (r *connRequest) answer(q *QP, private []byte) error {
	psn := begin24()
	if err := q.join(&r.hello.end, psn); err != nil {
		r.half.refuse(err.Error())
		return err
	}
	mine := q.describe(psn, private)
	if err := r.half.say(kindAccept, mine.encode()); err != nil {
		return err
	}
	return r.half.hearReady()
}

// hearReady waits for the dialer.
func (h *halfOpen) hearReady() error {
	var buf [maxBody]byte
	k, body, err := readMessage(h.c, &buf)
	if err == nil && (k != kindReady || len(body) != 0) {
		err = violation("it answered accept with a message of kind %d", k)
	}
	return err
}

// answerManaged lets the dialer connect through the connection manager.
func (r *connRequest) answerManaged(ctx context.Context, q *QP, m *manager, private []byte) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.leave()
	token, request := m.expect()
	defer m.unexpect(token, request)
	mine := q.describe(0, private)
	mine.managed, mine.end.manager, mine.end.token = true, m.addr, token
	if err := r.half.say(kindAccept, mine.encode()); err != nil {
		return err
	}
	ready := make(chan error, 1)
	go func() { ready <- r.half.hearReady() }()
	select {
	case ev := <-request:
		peer := r.hello.end
		peer.token = token
		if err := m.accept(q, &peer, ev.id); err != nil {
			_ = r.half.c.SetDeadline(past())
			<-ready
			return fmt.Errorf("connection manager: %w", err)
		}
		return <-ready
	case err := <-ready:
		if err == nil {
			err = violation("it was ready before it was connected")
		}
		return err
	case <-ctx.Done():
	case <-m.quit:
	}
	_ = r.half.c.SetDeadline(past())
	<-ready
	return errors.Join(ctx.Err(), fabric.ErrPeerLost)
}

// Reject implements fabric.ConnRequest.
func (r *connRequest) Reject(private []byte) error {
	if err := checkPrivate(private); err != nil {
		return err
	}
	if r.answered.Swap(true) {
		return r.errAnswered()
	}
	defer r.half.abandon()
	_ = r.half.c.SetWriteDeadline(until(r.l.timeout))
	if err := r.half.say(kindReject, private); err != nil {
		return fmt.Errorf("fabric: verbs: rejecting %s: %w: %w", r.half.c.RemoteAddr(), err, fabric.ErrPeerLost)
	}
	return nil
}

// refuse answers for a program that does not.
func (r *connRequest) refuse(why string) {
	if r.answered.Swap(true) {
		return
	}
	if !r.half.dev.killed.Load() {
		_ = r.half.c.SetWriteDeadline(until(r.l.timeout))
		r.half.refuse(why)
	}
	r.half.abandon()
}
