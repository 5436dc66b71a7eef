package sendrecv

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// postReceive posts the receive in the place of message number n.
func (c *Conn) postReceive(n uint64) {
	w := &c.recv[0]
	w.ID, w.Local = n, c.local.Seg(c.welcome.receiveAt(n), c.welcome.sendBytes())
	if _, err := c.end.QP.PostRecv(c.recv[:]); err != nil {
		c.end.Fail(err)
	}
}

// Poll makes progress without waiting, and reports whether Next has a result or the
// connection is over.
func (c *Conn) Poll() bool {
	if c.end.Err == nil {
		c.take()
	}
	return c.arrived != c.taken || c.end.Err != nil
}

// take takes completions.
func (c *Conn) take() {
	for c.end.Err == nil {
		n := c.cq.Poll(c.comps[:])
		for i := range n {
			comp := &c.comps[i]
			switch {
			case comp.Status != fabric.StatusOK:
				c.end.Broken(c.end.QP, comp)
			case comp.Op == fabric.OpRecv:
				c.received(comp)
			default:
				c.done += c.every
			}
		}
		if n < len(c.comps) {
			return
		}
	}
}

// received takes a reply, or ready: the first message that comes. Whatever comes after
// the end of the connection is ignored.
func (c *Conn) received(comp *fabric.Completion) {
	if c.end.Err != nil {
		return
	}
	number := c.arrived + 1
	if !c.ready {
		number = 0
	}
	at, n := c.welcome.receiveAt(number), int(comp.Bytes)
	h, ok := parseHeader(c.mem[at : at+min(n, c.welcome.sendBytes())])
	switch {
	case comp.HasImm || !ok || h.number != uint32(number):
		c.end.Fail(fmt.Errorf("%d bytes that are not reply %d: %w", n, number, rpc.ErrProtocol))
	case h.kind == kindReady && !c.ready:
		c.ready = true
		c.postReceive(0)
	case (h.kind == kindResult || h.kind == kindFailure) && c.ready && number <= c.sent:
		c.replies[number%uint64(len(c.replies))] = reply{size: n - headerSize, failed: h.kind == kindFailure}
		c.arrived = number
	default:
		c.end.Fail(fmt.Errorf("a message of kind %d as reply %d of %d: %w", h.kind, number, c.sent, rpc.ErrProtocol))
	}
}

// Ready reports whether Next has a result.
func (c *Conn) Ready() bool { return c.arrived != c.taken }

// Next takes the next result; false when it is not there. err is an *rpc.Error when the
// call failed. The result is valid until the next call of Next.
func (c *Conn) Next() (result []byte, err error, ok bool) {
	if c.end.Domain == nil {
		return nil, nil, false // closed: so is the memory
	}
	if c.held {
		c.held = false
		c.postReceive(c.taken)
	}
	if c.arrived == c.taken {
		return nil, nil, false
	}
	c.taken++
	c.held = true
	r := &c.replies[c.taken%uint64(len(c.replies))]
	at := c.welcome.receiveAt(c.taken) + headerSize
	result = c.mem[at : at+r.size : at+r.size]
	if r.failed {
		code, text := wire.ParseFailure(result)
		result, err = nil, &rpc.Error{Code: code, Text: text}
	}
	fence.Count(&c.stats.replies, 1)
	return result, err, true
}

// Wait waits until there is a result or the connection is over, and returns true; or
// false when timeout has passed (0 means forever) or there is nothing to wait for.
func (c *Conn) Wait(timeout time.Duration) bool {
	if c.Poll() {
		return true
	}
	if c.sent == c.taken {
		return false
	}
	if timeout != 0 {
		return c.waitUntil(c.end.Clock.Now() + int64(timeout))
	}
	for !c.waiter.Wait(c.pollf, 0) { // Wake was called
	}
	return true
}

func (c *Conn) waitUntil(end int64) bool {
	for {
		left := time.Duration(end - c.end.Clock.Now())
		if left <= 0 {
			return c.Poll()
		}
		if c.waiter.Wait(c.pollf, left) {
			return true
		}
	}
}

// WaitMore waits until more says so, at most for limit, or until Wake. more polls the
// connection, and what else the caller waits for.
func (c *Conn) WaitMore(more func() bool, limit time.Duration) { c.waiter.Wait(more, limit) }

// Wake ends WaitMore. It may be called from any goroutine.
func (c *Conn) Wake() { c.waiter.Wake() }

// connStats are counts of a connection.
type connStats struct{ calls, replies atomic.Uint64 }

// ConnStats are counts since the connection was made. They may be read from any
// goroutine.
type ConnStats struct {
	Calls   uint64 // requests sent
	Replies uint64 // results taken
}

// Stats returns the counts.
func (c *Conn) Stats() ConnStats {
	return ConnStats{Calls: c.stats.calls.Load(), Replies: c.stats.replies.Load()}
}
