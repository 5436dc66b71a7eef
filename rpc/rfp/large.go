package rfp

import (
	"fmt"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// parts is the part of a Conn that sends a message longer than a frame.
type parts struct {
	large      []byte // what is left of the message
	largeClass uint8
	largeBuf   []byte // where it lies
}

// sendLarge sends a message in parts: those for which there are slots now, the
// others when answers to earlier frames were taken.
func (c *Conn) sendLarge(class uint8, msg []byte) error {
	if len(msg) > c.MaxMessage() {
		return fmt.Errorf("%w: %d bytes, the server takes %d", rpc.ErrTooLarge, len(msg), c.MaxMessage())
	}
	if err := c.Flush(); err != nil {
		return err
	}
	if c.full() {
		return rpc.ErrWindowFull
	}
	c.counted()
	c.largeClass = class
	msg, err := c.sendParts(msg)
	if len(msg) != 0 {
		c.largeBuf = append(c.largeBuf[:0], msg...)
		c.large = c.largeBuf
	}
	return err
}

// goOn sends parts of a message that wait for slots.
func (c *Conn) goOn() {
	c.large, _ = c.sendParts(c.large)
	if len(c.large) == 0 {
		c.large, c.largeBuf = nil, keepSmall(c.largeBuf)
	}
}

// sendParts sends as much of a message as there are slots for, and returns the
// rest.
func (c *Conn) sendParts(msg []byte) (rest []byte, err error) {
	for len(msg) != 0 && !c.noSlot() {
		c.class = c.largeClass
		n := min(len(msg), c.frameRoom())
		var marks wire.Marks
		if n < len(msg) {
			marks = wire.More
		} else {
			c.entries = 1
		}
		at := c.stageAt() + wire.RequestHeader
		b := c.local.Bytes()[at:]
		wire.PutEntry(b, n, marks)
		copy(b[wire.EntryHeader:], msg[:n])
		c.fill = wire.EntryHeader + n
		msg = msg[n:]
		if err := c.Flush(); err != nil {
			return nil, err
		}
	}
	return msg, nil
}
