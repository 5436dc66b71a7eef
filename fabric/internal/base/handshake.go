package base

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// HalfOpen is a TCP connection before its queue pair is ready.
type HalfOpen struct {
	*net.TCPConn
	of *Handshakes
}

// Handshakes are the half-open connections of a device. The zero value has none.
type Handshakes struct{ OpenSet[*HalfOpen] }

// Begin takes a connection into the care of the device. It closes the connection and returns
// false after Close.
func (s *Handshakes) Begin(c *net.TCPConn) (*HalfOpen, bool) {
	h := &HalfOpen{TCPConn: c, of: s}
	return h, s.Add(h)
}

// Finish takes the connection out of the device's care.
func (h *HalfOpen) Finish() { h.of.Remove(h) }

// Abandon closes the connection.
func (h *HalfOpen) Abandon() {
	h.Finish()
	_ = h.Close()
}

// Bound ends reading and writing when ctx does, until the returned function is called, which
// reports whether it was called in time.
func (h *HalfOpen) Bound(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { _ = h.SetDeadline(Past()) })
}

// Dial connects to the listener at addr.
func (s *Handshakes) Dial(ctx context.Context, addr fabric.Addr) (*HalfOpen, error) {
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", addr.Name)
	if err != nil {
		return nil, err
	}
	tc, ok := c.(*net.TCPConn)
	if !ok {
		panic(fmt.Sprintf("fabric: package net dialed a %T", c))
	}
	h, ok := s.Begin(tc)
	if !ok {
		return nil, fmt.Errorf("the device is closed: %w", fabric.ErrClosed)
	}
	return h, nil
}

// DialError says why a handshake with the listener at addr failed with err.
func DialError(ctx context.Context, provider string, addr fabric.Addr, err error) error {
	var rejected *fabric.RejectedError
	switch {
	case errors.As(err, &rejected):
		return rejected
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = context.DeadlineExceeded // package net may be a moment ahead of ctx
	case errors.Is(err, unix.ECONNREFUSED):
		err = fmt.Errorf("nobody listens there; check host and port, and that the server runs: %w", fabric.ErrRefused)
	case errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.ETIMEDOUT):
		err = fmt.Errorf("%w: %w", err, fabric.ErrRefused)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ECONNRESET),
		errors.Is(err, unix.EPIPE):
		err = fmt.Errorf("closed by the other side before it answered: %w", fabric.ErrRefused)
	}
	return fmt.Errorf("fabric: %s: dial %v: %w", provider, addr, err)
}
