package rfp

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// parts is the part of a Conn that sends a message longer than a frame: in pieces
// through the bulk area, or in parts of a frame's length when there is none.
type parts struct {
	large      message // the rest of the message
	largeClass uint8
	largeTotal int
	inPieces   bool   // it travels in pieces
	largeBuf   []byte // where that lies
	out        area   // for pieces of requests; without a size until there is one

	// Pieces that were written and that no frame has named yet, for want of a slot.
	named [2 * piecesInArea]wire.Piece // the last ones are short
	names int
}

// unsent reports whether a message has not been sent whole.
func (p *parts) unsent() bool { return p.names != 0 || p.large.len() != 0 }

// message is a message to send: head, and body behind it.
type message struct{ head, body []byte }

func (m message) len() int { return len(m.head) + len(m.body) }

// copyTo copies the first bytes of the message, as many as dst has.
func (m message) copyTo(dst []byte) {
	n := copy(dst, m.head)
	copy(dst[n:], m.body)
}

// sum is the checksum of the first n bytes of the message.
func (m message) sum(n int) uint32 {
	k := min(n, len(m.head))
	return crc32c.Update(crc32c.Checksum(m.head[:k]), m.body[:n-k])
}

// after is the message without its first n bytes.
func (m message) after(n int) message {
	k := min(n, len(m.head))
	return message{m.head[k:], m.body[n-k:]}
}

// sendLarge sends a message in parts: those for which there is room now, the
// others when answers to earlier frames were taken.
func (c *Conn) sendLarge(class uint8, msg message) error {
	if msg.len() > c.MaxMessage() {
		return fmt.Errorf("%w: %d bytes, the server takes %d", rpc.ErrTooLarge, msg.len(), c.MaxMessage())
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
	c.largeClass, c.largeTotal, c.inPieces = class, msg.len(), c.out.size != 0
	msg, err := c.sendMost(msg)
	if left := msg.len(); left != 0 && err == nil {
		c.largeBuf = grow(c.largeBuf, left)[:left]
		msg.copyTo(c.largeBuf)
		c.large = message{body: c.largeBuf}
	}
	return err
}

// sendFor is how long a long message waits in Send for the server to take its pieces. What
// is left then is copied and follows later.
const sendFor = 55 * time.Microsecond

// sendMost sends as much of a message as the server takes while it is watched.
func (c *Conn) sendMost(msg message) (rest message, err error) {
	rest, err = c.sendParts(msg)
	for vain := (stopwatch{}); err == nil && rest.len() != 0 && !vain.beyond(sendFor, c.end.Clock); {
		if c.Poll() {
			return rest, c.end.Err // a result has come, and is to be taken first
		}
		left := rest.len()
		if rest, err = c.sendParts(rest); rest.len() != left {
			vain = stopwatch{}
		}
	}
	return rest, err
}

// goOn sends parts of a message that wait for room.
func (c *Conn) goOn() {
	c.large, _ = c.sendParts(c.large)
	if c.large.len() == 0 {
		c.large = message{}
		if cap(c.largeBuf) > keepLarge {
			c.largeBuf = nil
		}
	}
}

// sendParts sends as much of a message as there is room for, and returns the
// rest.
func (c *Conn) sendParts(msg message) (rest message, err error) {
	if c.inPieces {
		return c.sendPieces(msg)
	}
	for msg.len() != 0 && !c.noSlot() {
		n, err := c.sendPart(msg)
		if err != nil {
			return msg, err
		}
		msg = msg.after(n)
	}
	return msg, nil
}

// sendPart sends a frame with the next part of a message, and returns how much
// that was.
func (c *Conn) sendPart(msg message) (n int, err error) {
	b := c.local.Bytes()[c.stageAt()+wire.RequestHeader:]
	n = min(msg.len(), c.frameRoom())
	var marks wire.Marks
	if n < msg.len() {
		marks = wire.More
	}
	wire.PutEntry(b, n, marks)
	msg.copyTo(b[wire.EntryHeader : wire.EntryHeader+n])
	return n, c.flushPart(wire.EntryHeader+n, n == msg.len())
}

// sendPieces writes pieces into the area while it has room, and frames that name
// them while there are slots. So the next pieces are copied while the server copies
// those before, though the window be of one frame.
func (c *Conn) sendPieces(msg message) (rest message, err error) {
	for {
		n := 0
		if msg.len() != 0 && c.names < len(c.named) {
			if n, err = c.writePiece(msg); err != nil {
				return msg, err
			}
			msg = msg.after(n)
		}
		if c.names != 0 && !c.noSlot() {
			if err = c.namePieces(); err != nil {
				return msg, err
			}
		} else if n == 0 {
			return msg, nil
		}
	}
}

// namePieces sends a frame with the pieces that were written.
func (c *Conn) namePieces() error {
	b := c.local.Bytes()[c.stageAt()+wire.RequestHeader:]
	fill, last := 0, false
	for _, p := range c.named[:c.names] {
		fill += putPiece(b[fill:], p)
		last = !p.More
	}
	c.names = 0
	return c.flushPart(fill, last)
}

// flushPart sends a frame with a part of a message.
func (c *Conn) flushPart(fill int, last bool) error {
	c.class, c.fill = c.largeClass, fill
	if last {
		c.entries = 1
	}
	return c.Flush()
}
