//go:build linux

package tcp

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

const (
	defaultBacklog   = 128
	defaultHandshake = 5 * time.Second
	// greetersPerPlace is how many connections may be saying hello for each
	// place in the backlog: the limit of what silent peers can occupy.
	greetersPerPlace = 4
	minGreeters      = 256
	// acceptPause is how long to wait when the process has no descriptors
	// left.
	acceptPause = 10 * time.Millisecond
)

// listener implements fabric.Listener.
type listener struct {
	dev      *Device
	l        *net.TCPListener
	addr     fabric.Addr
	timeout  time.Duration
	requests chan *connRequest
	greeters chan struct{} // a token each
	closed   chan struct{}
	once     sync.Once
	mu       sync.Mutex
	greeting map[*halfOpen]struct{}
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if err := d.checkAddr(addr, nil); err != nil {
		return nil, err
	}
	if cfg.Backlog < 0 || cfg.HandshakeTimeout < 0 {
		return nil, fmt.Errorf("fabric: tcp: listen: backlog %d, handshake timeout %v: %w",
			cfg.Backlog, cfg.HandshakeTimeout, fabric.ErrInvalid)
	}
	if cfg.Backlog == 0 {
		cfg.Backlog = defaultBacklog
	}
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = defaultHandshake
	}
	var lc net.ListenConfig
	nl, err := lc.Listen(context.Background(), "tcp", addr.Name)
	if err != nil {
		return nil, listenError(addr, err)
	}
	tl, ok := nl.(*net.TCPListener)
	if !ok {
		panic(fmt.Sprintf("fabric: tcp: package net listens with a %T", nl))
	}
	l := &listener{
		dev: d, l: tl, timeout: cfg.HandshakeTimeout,
		addr:     fabric.Addr{Fabric: "tcp", Name: nl.Addr().String(), Options: addr.Options},
		requests: make(chan *connRequest, cfg.Backlog),
		greeters: make(chan struct{}, max(greetersPerPlace*cfg.Backlog, minGreeters)),
		closed:   make(chan struct{}),
		greeting: map[*halfOpen]struct{}{},
	}
	d.learnHost(nl.Addr())
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		_ = nl.Close()
		return nil, d.errClosed()
	}
	d.listeners[l] = struct{}{}
	d.mu.Unlock()
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
	return fmt.Errorf("fabric: tcp: listen at %v: %w%s", addr, err, hint)
}

// run takes connections from the kernel.
func (l *listener) run() {
	for {
		c, err := l.l.AcceptTCP()
		if err != nil {
			if l.isClosed() || errors.Is(err, net.ErrClosed) {
				return
			}
			l.dev.report(fmt.Errorf("fabric: tcp: accept at %v: %w", l.addr, err))
			l.pause()
			continue
		}
		select {
		case l.greeters <- struct{}{}:
		default:
			_ = c.Close()
			l.dev.report(fmt.Errorf("fabric: tcp: %v: %d connections are saying hello, %v was closed",
				l.addr, cap(l.greeters), c.RemoteAddr()))
			continue
		}
		h, err := l.dev.begin(c)
		if err != nil {
			return
		}
		go l.greet(h)
	}
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
	defer func() { <-l.greeters }()
	m, err := l.hear(h)
	if err == nil && m.kind != helloRequest {
		err = violation("it began with a hello of kind %d", m.kind)
	}
	if err != nil {
		if errors.Is(err, fabric.ErrProtocol) && m.version != 0 && m.version != wireVersion {
			_ = h.say(&hello{kind: helloBadVersion})
		}
		h.abandon()
		if !l.isClosed() {
			l.dev.report(fmt.Errorf("fabric: tcp: %v: connection of %v was closed: %w",
				l.addr, h.c.RemoteAddr(), asProtocol(err)))
		}
		return
	}
	_ = h.c.SetDeadline(time.Time{}) // the program may think as long as it likes
	r := &connRequest{half: h, hello: m}
	select {
	case l.requests <- r:
		// Close may have emptied the backlog just before.
		if l.isClosed() {
			l.refuseAll()
		}
	default:
		r.refuse()
	}
}

// hear hears a hello in the time that is given for it, or until Close.
func (l *listener) hear(h *halfOpen) (hello, error) {
	_ = h.c.SetDeadline(until(l.timeout))
	l.mu.Lock()
	l.greeting[h] = struct{}{}
	l.mu.Unlock()
	if l.isClosed() {
		_ = h.c.SetDeadline(past())
	}
	m, err := h.hear()
	l.mu.Lock()
	delete(l.greeting, h)
	l.mu.Unlock()
	return m, err
}

// asProtocol makes what ends a handshake a violation: too slow or too short.
func asProtocol(err error) error {
	if errors.Is(err, fabric.ErrProtocol) {
		return err
	}
	return violation("no hello: %v", err)
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
		return nil, fmt.Errorf("fabric: tcp: accept at %v: %w", l.addr, ctx.Err())
	case <-l.closed:
		return nil, l.errClosed()
	}
}

func (l *listener) errClosed() error {
	return fmt.Errorf("fabric: tcp: listener at %v: %w", l.addr, fabric.ErrClosed)
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
		l.mu.Lock()
		for h := range l.greeting {
			_ = h.c.SetDeadline(past())
		}
		l.mu.Unlock()
		l.refuseAll()
	})
	return err
}

// abandon is Close for a device that is closed.
func (l *listener) abandon() { _ = l.Close() }

// refuseAll refuses what waits.
func (l *listener) refuseAll() {
	for {
		select {
		case r := <-l.requests:
			r.refuse()
		default:
			return
		}
	}
}

// connRequest implements fabric.ConnRequest.
type connRequest struct {
	half     *halfOpen
	hello    hello
	answered atomic.Bool
}

// Transport implements fabric.ConnRequest.
func (r *connRequest) Transport() fabric.Transport { return r.hello.transport }

// Private implements fabric.ConnRequest.
func (r *connRequest) Private() []byte { return r.hello.private }

// Peer implements fabric.ConnRequest.
func (r *connRequest) Peer() fabric.Peer {
	return fabric.Peer{Addr: r.half.c.RemoteAddr().String()}
}

var errAnswered = fmt.Errorf("fabric: tcp: connection request was answered before: %w", fabric.ErrInvalid)

// Accept implements fabric.ConnRequest. A configuration that is wrong refuses
// the dialer too: it would wait for ever.
func (r *connRequest) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if r.answered.Swap(true) {
		return nil, errAnswered
	}
	d := r.half.dev
	err := checkPrivate(private)
	if err == nil && cfg.Transport != r.hello.transport {
		err = fmt.Errorf("fabric: tcp: accepting %v for %v: %w", cfg.Transport, r.hello.transport, fabric.ErrInvalid)
	}
	var q *conn
	if err == nil {
		q, err = d.newConn(cfg)
	}
	if err != nil {
		r.answered.Store(false) // the request stays open
		return nil, err
	}
	defer r.half.abandon()
	defer r.half.bounded(ctx)()
	err = r.half.say(&hello{
		kind: helloAccept, transport: q.transport, qpn: q.num, window: window, private: private,
	})
	if err != nil {
		err = fmt.Errorf("fabric: tcp: accepting %v: %w: %w", r.half.c.RemoteAddr(), err, fabric.ErrPeerLost)
	} else {
		err = r.half.take(q, &r.hello)
	}
	if err != nil {
		_ = q.Close()
		return nil, err
	}
	return q, nil
}

// Reject implements fabric.ConnRequest.
func (r *connRequest) Reject(private []byte) error {
	if err := checkPrivate(private); err != nil {
		return err
	}
	if r.answered.Swap(true) {
		return errAnswered
	}
	defer r.half.abandon()
	if err := r.half.say(&hello{kind: helloReject, transport: r.hello.transport, private: private}); err != nil {
		return fmt.Errorf("fabric: tcp: rejecting %v: %w: %w", r.half.c.RemoteAddr(), err, fabric.ErrPeerLost)
	}
	return nil
}

// refuse answers for a program that does not.
func (r *connRequest) refuse() {
	if !r.answered.Swap(true) {
		r.dismiss()
	}
}

func (r *connRequest) dismiss() {
	_ = r.half.say(&hello{kind: helloRefuse, transport: r.hello.transport})
	r.half.abandon()
}
