package sendrecv

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
)

// Send sends a message. msg is copied. rpc.ErrWindowFull says that results must be taken
// first, or that the fabric has not done with earlier requests: Poll, then try again.
// rpc.ErrTooLarge says that the message needs another path. Other errors are the end of
// the connection, and the message was not sent (rpc.ErrNotSent).
func (c *Conn) Send(msg []byte) error {
	b, err := c.Reserve(len(msg))
	if err != nil {
		return err
	}
	copy(b, msg)
	return c.Commit()
}

// Reserve returns n bytes to be filled with a message, which Commit sends. Errors are
// those of Send. What was reserved before and not committed is forgotten.
func (c *Conn) Reserve(n int) ([]byte, error) {
	switch {
	case c.end.Err != nil:
		return nil, notSent(c.end.Err)
	case n < 0 || n > c.MaxMessage():
		return nil, fmt.Errorf("%w: %d bytes, a receive holds %d", rpc.ErrTooLarge, n, c.MaxMessage())
	case c.sent-c.taken >= uint64(c.welcome.window) || !c.room():
		return nil, rpc.ErrWindowFull
	}
	c.reserved = n
	return c.messageAt(c.sent+1, n), nil
}

// messageAt is the memory of the message of a request.
func (c *Conn) messageAt(number uint64, n int) []byte {
	at := c.welcome.sendAt(number) + headerSize
	return c.mem[at : at+n : at+n]
}

// room reports whether the send queue takes one more (S7).
func (c *Conn) room() bool {
	depth := uint64(c.welcome.sendDepth())
	if c.posted-c.done >= depth {
		c.take()
	}
	return c.posted-c.done < depth
}

// Commit sends the message that was reserved. Commit without Reserve panics.
func (c *Conn) Commit() error {
	if c.reserved < 0 {
		panic("sendrecv: Commit without Reserve")
	}
	n, number := c.reserved, c.sent+1
	c.reserved = -1
	at := c.welcome.sendAt(number)
	header{uint32(number), kindRequest}.put(c.mem[at:])
	c.requests[number%uint64(len(c.requests))] = n
	w := &c.one[0] // field by field: a literal would be made elsewhere and copied
	w.ID, w.Op, w.Flags = number, fabric.OpSend, 0
	w.Local = c.local.Seg(at, headerSize+n)
	if w.Local.Len <= c.inline {
		w.Flags = fabric.FlagInline
	}
	if (c.posted+1)%c.every == 0 {
		w.Flags |= fabric.FlagSignaled
	}
	if _, err := c.end.QP.Post(c.one[:]); err != nil {
		c.end.Fail(err)
		return notSent(c.end.Err)
	}
	c.posted++
	c.sent = number
	fence.Count(&c.stats.calls, 1)
	return nil
}

// notSent is the error of a message that never left.
func notSent(err error) error { return fmt.Errorf("%w: %w", rpc.ErrNotSent, err) }

// Request returns the message whose result Next took last, so that it can be sent by
// another path. It is valid until the next Reserve or Send.
func (c *Conn) Request() []byte {
	return c.messageAt(c.taken, c.requests[c.taken%uint64(len(c.requests))])
}

// settled reports whether there is room, or the connection is over, for waiting.
func (c *Conn) settled() bool {
	c.Poll()
	return c.end.Err != nil || c.room()
}

// Settle waits until Reserve fails for no other reason than results that were not taken,
// or until the connection is over. That takes as long as the fabric needs for a SEND.
func (c *Conn) Settle() {
	for !c.settled() {
		c.waiter.Wait(c.freef, settleWait)
	}
}

// settleWait bounds one wait of Settle.
const settleWait = 100 * time.Millisecond
