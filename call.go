package remora

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
)

// maxTries bounds how often an operation is begun anew because the server went
// away again before it was sent.
const maxTries = 8

// attempt is how far an operation has come.
type attempt struct {
	tries int
	again bool // an idempotent operation was repeated
	moved bool // the map of cores was asked for again
}

// request is memory for a request, and for a result without a value.
type request struct {
	b   []byte
	out [command.PlacedSize]byte
}

var requests = sync.Pool{New: func() any { return new(request) }}

// keepRequest bounds the buffers that the pool keeps.
const keepRequest = 64 << 10

func newRequest() *request {
	r, _ := requests.Get().(*request)
	r.b = r.b[:0]
	return r
}

func (r *request) free() {
	if cap(r.b) <= keepRequest {
		requests.Put(r)
	}
}

// do calls a procedure on the core that has the key, with the argument that is req
// and, behind it, value, and appends its result to out. It begins anew as often as R1
// allows, until there is an answer or a reason why there is none.
func (c *Client) do(ctx context.Context, op command.Proc, key string, req, value, out []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, c.lost(op, false, context.Cause(ctx))
	}
	base := len(out)
	for t := (attempt{}); ; {
		set := c.conns.Set()
		r, hash := set.RouteOf(key)
		conn := r.Conn()
		if conn == nil {
			if err := c.again(ctx, op, r, &t); err != nil {
				return nil, err
			}
			continue
		}
		result, err := conn.Call(ctx, op, hash, req, value, out)
		if err == nil {
			switch refusal(result[base:]) {
			case command.WrongCore:
				err = c.remap(ctx, op, set, conn, &t)
			case command.Draining:
				c.conns.Leave(set)
				err = c.again(ctx, op, r, &t)
			default:
				return result, nil
			}
		} else {
			err = c.settle(ctx, op, set, r, conn, err, &t)
		}
		if err != nil {
			return nil, err
		}
	}
}

// again waits for a connection with which an operation can be begun (anew).
func (c *Client) again(ctx context.Context, op command.Proc, r *path.Route, t *attempt) error {
	if t.tries++; t.tries > maxTries {
		return c.lost(op, false, fmt.Errorf("lost %d connections in a row", maxTries))
	}
	if err := c.conns.Await(ctx, r); err != nil {
		return c.lost(op, false, err)
	}
	return nil
}

// settle decides what becomes of an operation whose call has failed (R1): nil begins it
// anew.
func (c *Client) settle(
	ctx context.Context, op command.Proc, set *path.Set, r *path.Route, conn *path.Shared, err error, t *attempt,
) error {
	if e, ok := path.CallError(err); ok {
		return failure(op, e)
	}
	if errors.Is(err, rpc.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	sent := !errors.Is(err, rpc.ErrNotSent)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return c.lost(op, sent, context.Cause(ctx))
	}
	c.conns.Lose(set, r, conn, err)
	if c.conns.Closed() {
		return c.lost(op, sent, ErrClosed)
	}
	if sent {
		if t.again || !op.Idempotent() {
			return c.lost(op, true, err)
		}
		t.again = true
		c.retries.Add(1)
	}
	return c.again(ctx, op, r, t)
}

// refusal returns the status of a result that refuses the operation as a whole,
// WrongCore or Draining; otherwise OK.
func refusal(result []byte) command.Status {
	if _, status, err := command.ParseStatus(result); err == nil &&
		(status == command.WrongCore || status == command.Draining) {
		return status
	}
	return command.OK
}

// remap asks for the map of cores again, once: nil begins the operation anew.
func (c *Client) remap(ctx context.Context, op command.Proc, set *path.Set, conn *path.Shared, t *attempt) error {
	if t.moved {
		return c.lost(op, false, errWrongCore)
	}
	t.moved = true
	changed, err := c.conns.Refresh(ctx, set, conn)
	if err == nil && !changed {
		err = errWrongCore
	}
	if err != nil {
		return c.lost(op, false, err)
	}
	return nil
}

// askCore calls a procedure on one core of a set and returns its result without the
// status.
func (c *Client) askCore(ctx context.Context, set *path.Set, core int, op command.Proc, req []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, c.lost(op, false, context.Cause(ctx))
	}
	r := &set.Routes[core]
	for t := (attempt{}); ; {
		conn := r.Conn()
		if conn == nil {
			if c.conns.Set() != set {
				return nil, errReplaced
			}
			if err := c.again(ctx, op, r, &t); err != nil {
				return nil, err
			}
			continue
		}
		result, err := conn.CallCore(ctx, op, req)
		if err == nil {
			body, status, bad := command.ParseStatus(result)
			switch {
			case bad != nil:
				return nil, c.lost(op, true, malformed(op, result))
			case status == command.OK:
				return body, nil
			case status != command.Draining:
				return nil, statusError(status)
			}
			c.conns.Leave(set)
			err = c.again(ctx, op, r, &t)
		} else {
			err = c.settle(ctx, op, set, r, conn, err, &t)
		}
		if err != nil {
			return nil, err
		}
	}
}

// errReplaced says that the connections of a call were replaced.
var errReplaced = errors.New("the server was restarted")

// simple makes a call whose result is only a status.
func (c *Client) simple(ctx context.Context, op command.Proc, key string, r *request) error {
	result, err := c.do(ctx, op, key, r.b, nil, r.out[:0])
	if err != nil {
		return err
	}
	return c.done(op, result)
}
