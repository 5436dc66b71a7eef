// Package netrpc runs programs that use the standard library's net/rpc over rfp.
// Such a program registers services and makes calls as before; only the lines
// that listen and dial change.
//
//	server   netrpc.Handle(&mux, proc, rpc.DefaultServer) in place of rpc.Accept
//	client   netrpc.Dial(ctx, addr, proc, cfg)            in place of rpc.Dial
//
// A request is one message with header and argument in gob, and so is its
// result. Every message contains the descriptions of its types, which a stream
// of gob sends only once. If microseconds matter, write an rpc.Handler instead.
//
// A method of a service runs on a core of the server. If it blocks, it delays
// the other clients of the core.
package netrpc

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	netrpc "net/rpc"
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Handle makes mux serve the services of srv under a procedure.
func Handle(mux *rpc.Mux, proc uint16, srv *netrpc.Server) {
	mux.Handle(proc, func(c *rpc.Call, out []byte) ([]byte, error) {
		codec := &serverCodec{in: gob.NewDecoder(bytes.NewReader(c.Request)), out: bytes.NewBuffer(out)}
		if err := srv.ServeRequest(codec); err != nil && !codec.answered {
			return out, err
		}
		return codec.out.Bytes(), nil
	})
}

// serverCodec is the codec of one request.
type serverCodec struct {
	in  *gob.Decoder
	out *bytes.Buffer
	// answered: a response was written, which may contain an error.
	answered bool
}

func (c *serverCodec) ReadRequestHeader(r *netrpc.Request) error { return c.in.Decode(r) }
func (c *serverCodec) ReadRequestBody(body any) error            { return c.in.Decode(body) }
func (c *serverCodec) Close() error                              { return nil }

func (c *serverCodec) WriteResponse(r *netrpc.Response, body any) error {
	c.answered = true
	out := gob.NewEncoder(c.out)
	return errors.Join(out.Encode(r), out.Encode(body))
}

// Dial connects to a server that serves net/rpc under proc.
func Dial(ctx context.Context, addr fabric.Addr, proc uint16, cfg rfp.ConnConfig) (*netrpc.Client, error) {
	c, err := rfp.DialClient(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	return netrpc.NewClientWithCodec(NewClientCodec(c, proc)), nil
}

// clientCodec sends requests by an rfp client, and waits for their results in
// the order of the requests.
type clientCodec struct {
	client *rfp.Client
	proc   uint16
	closed chan struct{}
	once   sync.Once
	calls  chan *rfp.Pending
	result *gob.Decoder
}

// maxCalls bounds the calls in flight. Another call waits.
const maxCalls = 1024

// NewClientCodec returns a codec that uses a client, and closes it at the end.
func NewClientCodec(c *rfp.Client, proc uint16) netrpc.ClientCodec {
	return &clientCodec{client: c, proc: proc, closed: make(chan struct{}), calls: make(chan *rfp.Pending, maxCalls)}
}

func (c *clientCodec) WriteRequest(r *netrpc.Request, body any) error {
	var b bytes.Buffer
	enc := gob.NewEncoder(&b)
	if err := errors.Join(enc.Encode(r), enc.Encode(body)); err != nil {
		return err
	}
	select {
	case c.calls <- c.client.Go(c.proc, b.Bytes(), nil):
		return nil
	case <-c.closed:
		return netrpc.ErrShutdown
	}
}

func (c *clientCodec) ReadResponseHeader(r *netrpc.Response) error {
	select {
	case p := <-c.calls:
		out, err := p.Wait(context.Background())
		if err != nil {
			return err
		}
		c.result = gob.NewDecoder(bytes.NewReader(out))
		return c.result.Decode(r)
	case <-c.closed:
		return io.EOF
	}
}

func (c *clientCodec) ReadResponseBody(body any) error {
	if body == nil {
		return nil // net/rpc does not want it, and nothing follows it
	}
	return c.result.Decode(body)
}

func (c *clientCodec) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.client.Close()
}
