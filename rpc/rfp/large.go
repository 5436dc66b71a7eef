package rfp

import (
	"fmt"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// parts is the part of a Conn that sends a message longer than a frame: in pieces
// through the bulk area, or in parts of a frame's length when there is none.
type parts struct {
	large      []byte // what is left of the message
	largeClass uint8
	largeTotal int
	largeBuf   []byte // where it lies
	out        area   // for pieces of requests
}

// sendLarge sends a message in parts: those for which there is room now, the
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
	if err := c.needStage(); err != nil {
		return err
	}
	c.counted()
	c.largeClass, c.largeTotal = class, len(msg)
	msg, err := c.sendMost(msg)
	if len(msg) != 0 && err == nil {
		c.largeBuf = append(grow(c.largeBuf, len(msg)), msg...)
		c.large = c.largeBuf
	}
	return err
}

// sendPatience is how many polls in vain a long message waits in Send for the server
// to take its pieces. What is left then is copied and follows later.
const sendPatience = 1 << 12

// sendMost sends as much of a message as the server takes while it is watched.
func (c *Conn) sendMost(msg []byte) (rest []byte, err error) {
	rest, err = c.sendParts(msg)
	for vain := 0; err == nil && len(rest) != 0 && vain < sendPatience; vain++ {
		if c.Poll() {
			return rest, c.err // a result has come, and is to be taken first
		}
		left := len(rest)
		if rest, err = c.sendParts(rest); len(rest) != left {
			vain = 0
		}
	}
	return rest, err
}

// goOn sends parts of a message that wait for room.
func (c *Conn) goOn() {
	c.large, _ = c.sendParts(c.large)
	if len(c.large) == 0 {
		c.large = nil
		if cap(c.largeBuf) > keepLarge {
			c.largeBuf = nil
		}
	}
}

// sendParts sends as much of a message as there is room for, and returns the
// rest.
func (c *Conn) sendParts(msg []byte) (rest []byte, err error) {
	for len(msg) != 0 && !c.noSlot() {
		c.class = c.largeClass
		n, err := c.sendPart(msg)
		if err != nil || n == 0 {
			return msg, err
		}
		msg = msg[n:]
	}
	return msg, nil
}

// sendPart sends a frame with the next part of a message, and returns how much
// that was: 0 when the bulk area is full.
func (c *Conn) sendPart(msg []byte) (n int, err error) {
	at := c.stageAt() + wire.RequestHeader
	b := c.local.Bytes()[at:]
	if c.rings.bulk != 0 {
		if n, err = c.writePiece(b, msg); n == 0 || err != nil {
			return 0, err
		}
		c.fill = pieceEntry
	} else {
		n = min(len(msg), c.frameRoom())
		var marks wire.Marks
		if n < len(msg) {
			marks = wire.More
		}
		wire.PutEntry(b, n, marks)
		copy(b[wire.EntryHeader:], msg[:n])
		c.fill = wire.EntryHeader + n
	}
	if n == len(msg) {
		c.entries = 1
	}
	return n, c.Flush()
}
