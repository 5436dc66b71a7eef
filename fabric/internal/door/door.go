//go:build linux

// Package door is the listening of providers that shake hands over TCP: a socket
// whose connections say hello, each in a goroutine of its own, and then wait in a
// backlog for the program to answer them.
//
//	D1  At most a bounded number of connections are being greeted. What comes
//	    beyond is closed, so that silent peers cannot fill the process.
//	D2  Whoever comes when the backlog is full is refused at once.
//	D3  After Close everything that waited has been refused, and nothing waits
//	    any more, also what was being greeted meanwhile.
//
// What a hello is, and how one is refused, is the provider's.
package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

const (
	// greetersPerPlace is how many connections may be saying hello for each place
	// in the backlog.
	greetersPerPlace = 4
	minGreeters      = 256
	// acceptPause is how long to wait when the process has no descriptors left.
	acceptPause = 10 * time.Millisecond
)

// Config is what a provider makes of a door.
type Config[R any] struct {
	// Provider is its name in errors, Fabric that of its addresses.
	Provider, Fabric string
	// Greet hears a connection, which may be anybody's, and calls Offer if it asks
	// for something. It owns the connection.
	Greet func(c *net.TCPConn)
	// Refuse answers for a program that does not.
	Refuse func(R, Reason)
	// Report, when not nil, is told of connections that were not taken.
	Report func(error)
}

// Reason is why a request is refused.
type Reason int

// The reasons.
const (
	Full   Reason = iota // the backlog is
	Closed               // the door is
)

// String is what a peer is told.
func (r Reason) String() string {
	if r == Full {
		return "the server's backlog is full; try again later"
	}
	return "the server has stopped listening"
}

// Door is a socket with a backlog of requests. Its methods may be called from any
// goroutine.
type Door[R any] struct {
	cfg      Config[R]
	socket   *net.TCPListener
	addr     fabric.Addr
	timeout  time.Duration
	requests chan R
	greeters chan struct{} // a token each
	closed   chan struct{}
	once     sync.Once
}

// Open opens a door at an address. Nobody is let in before Run.
func Open[R any](addr fabric.Addr, listen fabric.ListenConfig, cfg Config[R]) (*Door[R], error) {
	if listen.Backlog < 0 || listen.HandshakeTimeout < 0 {
		return nil, fmt.Errorf("fabric: %s: listen: backlog %d, handshake timeout %v: %w",
			cfg.Provider, listen.Backlog, listen.HandshakeTimeout, fabric.ErrInvalid)
	}
	if listen.Backlog == 0 {
		listen.Backlog = fabric.DefaultBacklog
	}
	if listen.HandshakeTimeout == 0 {
		listen.HandshakeTimeout = fabric.DefaultHandshake
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr.Name)
	if err != nil {
		return nil, fmt.Errorf("fabric: %s: listen at %v: %w%s", cfg.Provider, addr, err, hint(err))
	}
	socket, ok := l.(*net.TCPListener)
	if !ok {
		panic(fmt.Sprintf("fabric: %s: package net listens with a %T", cfg.Provider, l))
	}
	return &Door[R]{
		cfg: cfg, socket: socket, timeout: listen.HandshakeTimeout,
		addr:     fabric.Addr{Fabric: cfg.Fabric, Name: l.Addr().String(), Options: addr.Options},
		requests: make(chan R, listen.Backlog),
		greeters: make(chan struct{}, max(greetersPerPlace*listen.Backlog, minGreeters)),
		closed:   make(chan struct{}),
	}, nil
}

// hint says what to do about an address that cannot be had.
func hint(err error) string {
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return "; another process listens there (ss -ltnp shows which): stop it, or choose another port, or port 0 for any free one"
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return "; this host has no such address (ip addr shows which it has)"
	case errors.Is(err, unix.EACCES):
		return "; ports below 1024 need a privilege: choose a higher one"
	}
	return ""
}

// Addr is the address that was really taken.
func (d *Door[R]) Addr() fabric.Addr { return d.addr }

// Local is that of the socket.
func (d *Door[R]) Local() net.Addr { return d.socket.Addr() }

// Timeout is how long a handshake may take.
func (d *Door[R]) Timeout() time.Duration { return d.timeout }

// Run takes connections from the kernel until Close.
func (d *Door[R]) Run() {
	for {
		c, err := d.socket.AcceptTCP()
		switch {
		case err == nil:
			d.welcome(c)
		case d.IsClosed() || errors.Is(err, net.ErrClosed):
			return
		default:
			d.report(fmt.Errorf("fabric: %s: accept at %v: %w", d.cfg.Provider, d.addr, err))
			d.pause()
		}
	}
}

// welcome lets a connection say hello, if not too many do (D1).
func (d *Door[R]) welcome(c *net.TCPConn) {
	select {
	case d.greeters <- struct{}{}:
	default:
		_ = c.Close()
		d.report(fmt.Errorf("fabric: %s: %v: %d connections are saying hello, %v was closed",
			d.cfg.Provider, d.addr, cap(d.greeters), c.RemoteAddr()))
		return
	}
	go func() {
		defer func() { <-d.greeters }()
		d.cfg.Greet(c)
	}()
}

func (d *Door[R]) report(err error) {
	if d.cfg.Report != nil {
		d.cfg.Report(err)
	}
}

func (d *Door[R]) pause() {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.closed:
	}
}

// Offer puts a request into the backlog, or refuses it.
func (d *Door[R]) Offer(r R) {
	select {
	case d.requests <- r:
		// Close may have emptied the backlog just before.
		if d.IsClosed() {
			d.refuseAll()
		}
	default:
		d.cfg.Refuse(r, Full)
	}
}

// Accept returns the next request.
func (d *Door[R]) Accept(ctx context.Context) (R, error) {
	var none R
	if d.IsClosed() {
		return none, d.errClosed()
	}
	select {
	case r := <-d.requests:
		return r, nil
	case <-ctx.Done():
		return none, fmt.Errorf("fabric: %s: accept at %v: %w", d.cfg.Provider, d.addr, ctx.Err())
	case <-d.closed:
		return none, d.errClosed()
	}
}

func (d *Door[R]) errClosed() error {
	return fmt.Errorf("fabric: %s: listener at %v: %w", d.cfg.Provider, d.addr, fabric.ErrClosed)
}

// IsClosed reports whether Close was called.
func (d *Door[R]) IsClosed() bool {
	select {
	case <-d.closed:
		return true
	default:
		return false
	}
}

// Close closes the socket and refuses what waits (D3). also, which is called in
// between, lets the provider end what is being greeted. A second Close is an error.
func (d *Door[R]) Close(also func()) error {
	err := d.errClosed()
	d.once.Do(func() {
		close(d.closed)
		err = d.socket.Close()
		also()
		d.refuseAll()
	})
	return err
}

func (d *Door[R]) refuseAll() {
	for {
		select {
		case r := <-d.requests:
			d.cfg.Refuse(r, Closed)
		default:
			return
		}
	}
}
