package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// listener implements fabric.Listener.
type listener struct {
	dev *Device
	*base.Listener[*connRequest]
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if err := d.checkAddr(addr, nil); err != nil {
		return nil, err
	}
	l := &listener{dev: d}
	var err error
	l.Listener, err = base.Listen(addr, cfg, base.ListenerConfig[*connRequest]{
		Provider: "tcp", Fabric: "tcp", Greet: l.greet,
		Refuse: func(r *connRequest, _ string) { r.refuse() },
	})
	if err != nil {
		return nil, err
	}
	d.learnHost(l.Local())
	if !d.listeners.Add(l) {
		return nil, d.errClosed()
	}
	go l.Run()
	return l, nil
}

// greet hears the hello of one connection, from any peer.
func (l *listener) greet(c *net.TCPConn, in io.Reader) error {
	open, ok := l.dev.handshakes.Begin(c)
	if !ok {
		return nil
	}
	h := &halfOpen{open, l.dev}
	_ = h.SetDeadline(base.Until(l.Timeout()))
	m, err := hear(in)
	if err == nil && m.kind != helloRequest {
		err = violation("it began with a hello of kind %d", m.kind)
	}
	if err != nil {
		if errors.Is(err, fabric.ErrProtocol) && m.version != 0 && m.version != wireVersion {
			_ = h.say(&hello{kind: helloBadVersion})
		}
		h.Abandon()
		return asProtocol(err)
	}
	_ = h.SetDeadline(time.Time{}) // the program may think as long as it likes
	return l.Offer(&connRequest{half: h, hello: m})
}

// asProtocol makes what ends a handshake a violation: too slow or too short.
func asProtocol(err error) error {
	if errors.Is(err, fabric.ErrProtocol) {
		return err
	}
	return fmt.Errorf("no hello: %w: %w", err, fabric.ErrProtocol)
}

// Accept implements fabric.Listener.
func (l *listener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Close implements fabric.Listener.
func (l *listener) Close() error {
	l.dev.listeners.Remove(l)
	return l.Listener.Close()
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
	return fabric.Peer{Addr: r.half.RemoteAddr().String()}
}

var errAnswered = fmt.Errorf("fabric: tcp: connection request was answered before: %w", fabric.ErrInvalid)

// Accept implements fabric.ConnRequest.
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
	defer r.half.Abandon()
	defer r.half.Bound(ctx)()
	err = r.half.say(&hello{
		kind: helloAccept, transport: q.transport, qpn: q.num, window: window, private: private,
	})
	if err != nil {
		err = fmt.Errorf("fabric: tcp: accepting %v: %w: %w", r.half.RemoteAddr(), err, fabric.ErrPeerLost)
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
	defer r.half.Abandon()
	if err := r.half.say(&hello{kind: helloReject, transport: r.hello.transport, private: private}); err != nil {
		return fmt.Errorf("fabric: tcp: rejecting %v: %w: %w", r.half.RemoteAddr(), err, fabric.ErrPeerLost)
	}
	return nil
}

// refuse refuses in place of the program.
func (r *connRequest) refuse() {
	if !r.answered.Swap(true) {
		_ = r.half.say(&hello{kind: helloRefuse, transport: r.hello.transport})
		r.half.Abandon()
	}
}
