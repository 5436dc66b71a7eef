//go:build rdma

package verbs

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
	*base.Listener[*connRequest]
	dev *Device
}

// Listen implements fabric.Device.
func (d *Device) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	if err := d.checkAddr(addr); err != nil {
		return nil, err
	}
	l := &listener{dev: d}
	var err error
	l.Listener, err = base.Listen(addr, cfg, base.ListenerConfig[*connRequest]{
		Provider: "verbs", Fabric: "rdma", Greet: l.greet,
		Refuse: (*connRequest).refuse,
	})
	if err != nil {
		return nil, err
	}
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
	_ = c.SetDeadline(base.Until(l.Timeout()))
	var buf [maxBody]byte
	k, body, err := readMessage(in, &buf)
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
		h.Abandon()
		return fmt.Errorf("no hello: %w", err)
	}
	_ = c.SetDeadline(time.Time{}) // the program may think as long as it likes
	return l.Offer(&connRequest{l: l, half: h, hello: m})
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
func (r *connRequest) Peer() fabric.Peer { return fabric.Peer{Addr: r.half.RemoteAddr().String()} }

func (r *connRequest) errAnswered() error {
	return fmt.Errorf("fabric: verbs: the request of %s was answered before: %w", r.half.RemoteAddr(), fabric.ErrClosed)
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
		r.half.Finish()
		if err = d.startControl(q, r.half.TCPConn); err == nil {
			return q, nil
		}
	}
	r.half.Abandon()
	q.abandon()
	if ctx.Err() != nil {
		err = ctx.Err()
	} else {
		err = fmt.Errorf("%w: %w", err, fabric.ErrPeerLost)
	}
	return nil, fmt.Errorf("fabric: verbs: accepting %s: %w", r.half.RemoteAddr(), err)
}

// connect answers the dialer and waits until it can receive.
func (r *connRequest) connect(ctx context.Context, q *QP, private []byte) error {
	h := r.half
	_ = h.SetDeadline(base.Until(r.l.Timeout()))
	stop := h.Bound(ctx)
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
	return h.SetDeadline(time.Time{})
}

// manager returns the connection manager if it is to be used.
func (r *connRequest) manager() (*manager, error) {
	d := r.half.dev
	if !r.hello.managed {
		if d.cfg.CM == "on" && r.hello.transport == fabric.RC {
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
	k, body, err := readMessage(h, &buf)
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
	mine.managed, mine.end.manager, mine.end.token = true, m.at(), token
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
			_ = r.half.SetDeadline(base.Past())
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
	_ = r.half.SetDeadline(base.Past())
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
	defer r.half.Abandon()
	_ = r.half.SetWriteDeadline(base.Until(r.l.Timeout()))
	if err := r.half.say(kindReject, private); err != nil {
		return fmt.Errorf("fabric: verbs: rejecting %s: %w: %w", r.half.RemoteAddr(), err, fabric.ErrPeerLost)
	}
	return nil
}

// refuse refuses in place of the program.
func (r *connRequest) refuse(why string) {
	if r.answered.Swap(true) {
		return
	}
	if !r.half.dev.killed.Load() {
		_ = r.half.SetWriteDeadline(base.Until(r.l.Timeout()))
		r.half.refuse(why)
	}
	r.half.Abandon()
}
