package base

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// acceptPause is how long to wait when the process has no descriptors left.
const acceptPause = 10 * time.Millisecond

// ListenerConfig is what a provider makes of a listener.
type ListenerConfig[R any] struct {
	// Provider is its name in errors, Fabric that of its addresses.
	Provider, Fabric string
	// Greet reads the hello of a connection, from any peer, from in, and calls Offer
	// if that asks for a queue pair. It owns the connection. An error says why
	// the connection was closed or refused.
	Greet func(c *net.TCPConn, in io.Reader) error
	// Refuse refuses a request in place of the program, and tells the peer why.
	Refuse func(r R, why string)
}

// Why a peer is refused without the program having seen its request.
const (
	BacklogFull = "the server's backlog is full; try again later"
	Stopped     = "the server has stopped listening"
)

// Listener is a socket with a backlog of requests. Its methods may be called from any
// goroutine.
type Listener[R any] struct {
	cfg      ListenerConfig[R]
	socket   *net.TCPListener
	addr     fabric.Addr
	timeout  time.Duration
	reported func(error)
	requests chan R
	greeters *Greeters
	closed   chan struct{}
	once     sync.Once
}

// Listen opens a listener at an address. It takes no connections before Run.
func Listen[R any](addr fabric.Addr, listen fabric.ListenConfig, cfg ListenerConfig[R]) (*Listener[R], error) {
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
	sock, err := lc.Listen(context.Background(), "tcp", addr.Name)
	if err != nil {
		return nil, fmt.Errorf("fabric: %s: listen at %v: %w%s", cfg.Provider, addr, err, hint(err))
	}
	socket, ok := sock.(*net.TCPListener)
	if !ok {
		panic(fmt.Sprintf("fabric: %s: package net listens with a %T", cfg.Provider, sock))
	}
	return &Listener[R]{
		cfg: cfg, socket: socket, timeout: listen.HandshakeTimeout,
		addr:     fabric.Addr{Fabric: cfg.Fabric, Name: sock.Addr().String(), Options: addr.Options},
		requests: make(chan R, listen.Backlog),
		greeters: NewGreeters(listen.Backlog),
		reported: listen.Report,
		closed:   make(chan struct{}),
	}, nil
}

// hint says what to do about an address that cannot be taken.
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

// Addr returns the address with the port that was taken.
func (l *Listener[R]) Addr() fabric.Addr { return l.addr }

// Local returns the address of the socket.
func (l *Listener[R]) Local() net.Addr { return l.socket.Addr() }

// Timeout returns how long a handshake may take.
func (l *Listener[R]) Timeout() time.Duration { return l.timeout }

// Run takes connections from the kernel until Close.
func (l *Listener[R]) Run() {
	for {
		c, err := l.socket.AcceptTCP()
		switch {
		case err == nil:
			l.admit(c)
		case l.IsClosed() || errors.Is(err, net.ErrClosed):
			return
		default:
			l.report(fmt.Errorf("fabric: %s: accept at %v: %w", l.cfg.Provider, l.addr, err))
			l.crowded(l.greeters.MakeRoom())
			l.pause()
		}
	}
}

// admit has a connection greeted (L1).
func (l *Listener[R]) admit(c *net.TCPConn) {
	g, closed, err := l.greeters.Enter(c, host(c), c.RemoteAddr().String())
	if err != nil {
		return
	}
	l.crowded(closed)
	go func() {
		defer g.Leave()
		if err := l.cfg.Greet(c, g); err != nil && !l.IsClosed() && !errors.Is(err, net.ErrClosed) {
			l.refused(g.Name, err)
		}
	}()
}

// ErrCrowded is why a silent connection was closed.
var ErrCrowded = errors.New("it was silent, and too many others were connecting")

// host returns what counts as one peer: an address, or for IPv6 a network, in which a host can
// have as many addresses as it likes.
func host(c *net.TCPConn) string {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	p, _ := ip.WithZone("").Prefix(64)
	return p.String()
}

func (l *Listener[R]) crowded(closed []*Greeter) {
	for _, g := range closed {
		l.refused(g.Name, ErrCrowded)
	}
}

func (l *Listener[R]) refused(peer string, err error) {
	l.report(fmt.Errorf("fabric: %s: %v: connection of %s was closed: %w", l.cfg.Provider, l.addr, peer, err))
}

func (l *Listener[R]) report(err error) {
	if l.reported != nil {
		l.reported(err)
	}
}

func (l *Listener[R]) pause() {
	t := time.NewTimer(acceptPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.closed:
	}
}

// Offer puts a request into the backlog, or refuses it and says why.
func (l *Listener[R]) Offer(r R) error {
	select {
	case l.requests <- r:
		// Close may have emptied the backlog just before.
		if l.IsClosed() {
			l.refuseAll()
		}
		return nil
	default:
		l.cfg.Refuse(r, BacklogFull)
		return errors.New(BacklogFull)
	}
}

// Accept returns the next request.
func (l *Listener[R]) Accept(ctx context.Context) (R, error) {
	var none R
	if l.IsClosed() {
		return none, l.errClosed()
	}
	select {
	case r := <-l.requests:
		return r, nil
	case <-ctx.Done():
		return none, fmt.Errorf("fabric: %s: accept at %v: %w", l.cfg.Provider, l.addr, ctx.Err())
	case <-l.closed:
		return none, l.errClosed()
	}
}

func (l *Listener[R]) errClosed() error {
	return fmt.Errorf("fabric: %s: listener at %v: %w", l.cfg.Provider, l.addr, fabric.ErrClosed)
}

// IsClosed reports whether Close was called.
func (l *Listener[R]) IsClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// Close closes the socket and what is being greeted, and refuses what waits (L3). A second
// Close is an error.
func (l *Listener[R]) Close() error {
	err := l.errClosed()
	l.once.Do(func() {
		close(l.closed)
		err = l.socket.Close()
		l.greeters.Close()
		l.refuseAll()
	})
	return err
}

func (l *Listener[R]) refuseAll() {
	for {
		select {
		case r := <-l.requests:
			l.cfg.Refuse(r, Stopped)
		default:
			return
		}
	}
}
