package remora

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
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

// keepRequest bounds the memory that waits in the pool.
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
// and, behind it, value, and appends its result to out. It goes on until there is an answer or a reason why there is none.
func (c *Client) do(ctx context.Context, op command.Proc, key string, req, value, out []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, c.lost(op, false, context.Cause(ctx))
	}
	base := len(out)
	for t := (attempt{}); ; {
		l := c.link.Load()
		ln, hash := l.laneOf(key)
		conn := ln.conn.Load()
		if conn == nil {
			if err := c.again(ctx, op, ln, &t); err != nil {
				return nil, err
			}
			continue
		}
		result, err := conn.Call(ctx, &driver.Message{Proc: uint16(op), Class: class, Hint: hash, Head: req, Body: value}, out)
		if err == nil {
			switch refusal(result[base:]) {
			case command.WrongCore:
				err = c.remap(ctx, op, l, conn, &t)
			case command.Draining:
				err = c.leave(ctx, op, l, ln, &t)
			default:
				return result, nil
			}
		} else {
			err = c.settle(ctx, op, l, ln, conn, err, &t)
		}
		if err != nil {
			return nil, err
		}
	}
}

// again waits for a connection with which an operation can be begun (anew).
func (c *Client) again(ctx context.Context, op command.Proc, ln *lane, t *attempt) error {
	if t.tries++; t.tries > maxTries {
		return c.lost(op, false, fmt.Errorf("lost %d connections in a row", maxTries))
	}
	if err := c.await(ctx, ln); err != nil {
		return c.lost(op, false, err)
	}
	return nil
}

// settle decides what becomes of an operation whose call has failed: nil begins
// it anew.
func (c *Client) settle(
	ctx context.Context, op command.Proc, l *link, ln *lane, conn *callers, err error, t *attempt,
) error {
	if e, ok := callFailed(err); ok {
		return failure(op, e)
	}
	if errors.Is(err, rpc.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	sent := !errors.Is(err, rpc.ErrNotSent)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return c.lost(op, sent, context.Cause(ctx))
	}
	c.lose(l, ln, conn, err)
	if c.closed.Load() {
		return c.lost(op, sent, ErrClosed)
	}
	if sent {
		if t.again || !idempotent(op) {
			return c.lost(op, true, err)
		}
		t.again = true
		c.retries.Add(1)
	}
	return c.again(ctx, op, ln, t)
}

// idempotent reports whether an operation may be repeated when nobody knows
// whether it has happened.
func idempotent(op command.Proc) bool {
	switch op {
	case command.Get, command.Link, opChase, command.Hello, command.Stats:
		return true
	default:
		return false
	}
}

// refusal returns the status of a result with which the server says that it did
// not even try: WrongCore or Draining; otherwise OK.
func refusal(result []byte) command.Status {
	if _, status, err := command.ParseStatus(result); err == nil &&
		(status == command.WrongCore || status == command.Draining) {
		return status
	}
	return command.OK
}

// leave gives up the connections with a server that is about to end: nil begins
// the operation anew. Other operations on them get their answers.
func (c *Client) leave(ctx context.Context, op command.Proc, l *link, ln *lane, t *attempt) error {
	for i := range l.lanes {
		if conn := l.lanes[i].conn.Load(); conn != nil {
			c.lose(l, &l.lanes[i], conn, errDraining)
		}
	}
	return c.again(ctx, op, ln, t)
}

// remap asks for the map of cores again, once: nil begins the operation anew.
func (c *Client) remap(ctx context.Context, op command.Proc, l *link, conn *callers, t *attempt) error {
	if t.moved {
		return c.lost(op, false, errWrongCore)
	}
	t.moved = true
	if c.link.Load() != l {
		return nil // somebody did
	}
	text, err := conn.Call(ctx, &driver.Message{Proc: uint16(command.Hello), Class: uint8(command.Hello), Head: command.AppendHello(nil)}, nil)
	if err != nil {
		return c.lost(op, false, err)
	}
	w, err := parseWelcome(text)
	if err != nil {
		return c.lost(op, false, err)
	}
	if sameServer(l.welcome, w) {
		return c.lost(op, false, errWrongCore)
	}
	if err := c.renew(ctx, l); err != nil {
		return c.lost(op, false, err)
	}
	return nil
}

// renew replaces the link, for a caller that may stop to wait for it.
func (c *Client) renew(ctx context.Context, l *link) error {
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return ErrClosed
	}
	c.wg.Go(func() { done <- c.replace(c.ctx, l, nil, nil) })
	c.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// askCore calls a procedure on one core of a link and returns what stands before
// the status.
func (c *Client) askCore(ctx context.Context, l *link, core int, op command.Proc, req []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, c.lost(op, false, context.Cause(ctx))
	}
	ln := &l.lanes[core]
	for t := (attempt{}); ; {
		conn := ln.conn.Load()
		if conn == nil {
			if c.link.Load() != l {
				return nil, errReplaced
			}
			if err := c.again(ctx, op, ln, &t); err != nil {
				return nil, err
			}
			continue
		}
		result, err := conn.Call(ctx, &driver.Message{Proc: uint16(op), Class: uint8(op), Head: req}, nil)
		if err == nil {
			body, status, bad := command.ParseStatus(result)
			switch {
			case bad != nil:
				return nil, c.lost(op, true, errMalformed)
			case status == command.OK:
				return body, nil
			case status != command.Draining:
				return nil, statusError(status)
			}
			err = c.leave(ctx, op, l, ln, &t)
		} else {
			err = c.settle(ctx, op, l, ln, conn, err, &t)
		}
		if err != nil {
			return nil, err
		}
	}
}

// errReplaced says that the link of a call was replaced.
var errReplaced = errors.New("the server was restarted")

// simple makes a call whose result is nothing but a status.
func (c *Client) simple(ctx context.Context, op command.Proc, key string, r *request) error {
	result, err := c.do(ctx, op, key, r.b, nil, r.out[:0])
	if err != nil {
		return err
	}
	return c.simpleResult(op, result)
}

// simpleResult reads a result that is nothing but a status.
func (d *dialer) simpleResult(op command.Proc, result []byte) error {
	if body, status, err := command.ParseStatus(result); err == nil && status == command.OK && len(body) == 0 {
		return nil
	}
	return d.resultError(op, result)
}

// resultError is the error of a result that is not the one of a success: what its
// status says, or that it is none at all.
func (d *dialer) resultError(op command.Proc, result []byte) error {
	body, status, err := command.ParseStatus(result)
	if err != nil || status == command.OK || len(body) != 0 {
		return d.lost(op, true, errMalformed)
	}
	return statusError(status)
}
