package rfp

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// The basic interface, as the RF-RPC paper has it in its Table 2: send and
// receive at both ends, with registered buffers.
//
//	client_send(server, buf, size)   Conn.SendBuffer
//	client_recv(server, buf)         Conn.RecvBuffer
//	server_recv(client, buf)         Endpoint.Recv
//	server_send(client, buf, size)   Endpoint.Send
//	malloc_buf(size)                 Conn.NewBuffer, Endpoint.NewBuffer
//	free_buf(buf)                    Buffer.Free

// Buffer is registered memory for messages.
type Buffer struct{ region *fabric.Region }

func newBuffer(d fabric.Domain, size int) (*Buffer, error) {
	r, err := d.Alloc("rfp buffer", size, 0)
	if err != nil {
		return nil, err
	}
	return &Buffer{region: r}, nil
}

// Bytes returns the memory, until Free.
func (b *Buffer) Bytes() []byte { return b.region.Bytes() }

// Free gives the memory back.
func (b *Buffer) Free() error { return b.region.Close() }

// NewBuffer allocates a buffer.
func (c *Conn) NewBuffer(size int) (*Buffer, error) { return newBuffer(c.end.Domain, size) }

// SendBuffer sends the first n bytes of a buffer as one message; see Send.
func (c *Conn) SendBuffer(b *Buffer, n int) error { return c.Send(0, b.Bytes()[:n]) }

// ErrTimeout reports that no result arrived in time.
var ErrTimeout = errors.New("rfp: timeout")

// RecvBuffer waits for the next result and copies it into a buffer. It returns its
// length, which is an error when the buffer is shorter: what fits is there.
// timeout 0 waits forever.
func (c *Conn) RecvBuffer(b *Buffer, timeout time.Duration) (int, error) {
	if !c.Wait(timeout) {
		if c.end.Err != nil {
			return 0, c.end.Err
		}
		return 0, ErrTimeout
	}
	data, err, ok := c.Next()
	if !ok {
		return 0, c.end.Err
	}
	if err != nil {
		return 0, err
	}
	if n := copy(b.Bytes(), data); n < len(data) {
		return len(data), fmt.Errorf("%w: %d bytes for a buffer of %d", rpc.ErrTooLarge, len(data), n)
	}
	return len(data), nil
}

// Endpoint is a server without handlers: its goroutine receives a message, sends
// the result, and receives the next. It is one core, run by the goroutine that calls Recv.
type Endpoint struct {
	server *Server
	domain fabric.Domain
	next   func() (*rpc.Call, bool)
	stop   func()
	out    []byte
	err    error
	open   bool // a message was received and no result sent
}

// NewEndpoint makes an endpoint. Serve, Cores and CPUs of the configuration are
// not looked at. Listen on Server.
func NewEndpoint(cfg ServerConfig) (*Endpoint, error) {
	e := &Endpoint{}
	var yield func(*rpc.Call) bool
	cfg.Cores, cfg.CPUs = 1, nil
	cfg.Serve = func(c *rpc.Call, msg, out []byte) ([]byte, error) {
		c.Request = msg
		e.out, e.err = out, nil
		if !yield(c) {
			return out, &rpc.Error{Code: rpc.CodeFailed, Text: "the server was closed"}
		}
		return e.out, e.err
	}
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	if e.domain, err = cfg.Device.NewDomain(); err != nil {
		_ = s.Close()
		return nil, err
	}
	e.server = s
	e.next, e.stop = iter.Pull(func(y func(*rpc.Call) bool) {
		yield = y
		s.base.Cores[0].Run(s.base.Cores[0].Moves())
	})
	return e, nil
}

// Server returns the server, to listen and for its counts. Its Stats are answered
// by the goroutine that is in Recv, so another one asks for them.
func (e *Endpoint) Server() *Server { return e.server }

// NewBuffer allocates a buffer.
func (e *Endpoint) NewBuffer(size int) (*Buffer, error) { return newBuffer(e.domain, size) }

// Recv waits for the next message and copies it into a buffer. It returns its
// length and its sender. A message that was received before and has no result
// gets an empty one. After Close it returns rpc.ErrClosed.
func (e *Endpoint) Recv(b *Buffer) (int, fabric.Peer, error) {
	c, ok := e.next()
	if e.open = ok; !ok {
		return 0, fabric.Peer{}, rpc.ErrClosed
	}
	if n := copy(b.Bytes(), c.Request); n < len(c.Request) {
		e.err = &rpc.Error{Code: rpc.CodeTooLarge, Text: fmt.Sprintf("%d bytes, the server takes %d", len(c.Request), n)}
		return len(c.Request), c.Peer, fmt.Errorf("%w: %d bytes for a buffer of %d", rpc.ErrTooLarge, len(c.Request), n)
	}
	return len(c.Request), c.Peer, nil
}

// Send makes the first n bytes of a buffer the result of the message that was
// received last. It reaches the client when Recv is called again.
func (e *Endpoint) Send(b *Buffer, n int) error {
	if !e.open {
		return fmt.Errorf("rfp: Send without Recv: %w", fabric.ErrInvalid)
	}
	e.open = false
	e.out = append(e.out, b.Bytes()[:n]...)
	return nil
}

// Stop makes Recv return rpc.ErrClosed. It may be called from any goroutine.
func (e *Endpoint) Stop() { e.server.base.Cores[0].Quit() }

// Close ends all sessions. It is called by the goroutine that calls Recv.
func (e *Endpoint) Close() error {
	e.Stop()
	for ok := true; ok; {
		_, ok = e.next() // results are lost with their sessions
	}
	e.stop()
	return errors.Join(e.server.Close(), e.domain.Close())
}
