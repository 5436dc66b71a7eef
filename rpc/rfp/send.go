package rfp

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// Send sends a message of a class, or puts it into a frame that is sent when it
// is full (ConnConfig.Batch). msg is copied. rpc.ErrWindowFull says that results
// must be taken first, and rpc.ErrTooLarge that the server takes no message of
// this length. Other errors are the end of the connection.
//
// A message longer than a frame is sent in parts. Those for which there is no
// room yet follow while results are taken, before any other message.
func (c *Conn) Send(class uint8, msg []byte) error {
	if !c.joins(class, len(msg)) {
		return c.SendGather(class, msg, nil)
	}
	copy(c.join(len(msg)), msg)
	return c.Commit()
}

// SendGather is Send of the message that is head and, behind it, body: so that
// callers need not copy a long body to put a few bytes before it.
func (c *Conn) SendGather(class uint8, head, body []byte) error {
	n := len(head) + len(body)
	if n > c.frameRoom() {
		return c.sendLarge(class, message{head, body})
	}
	b, err := c.Reserve(class, n)
	if err != nil {
		return err
	}
	copy(b[copy(b, head):], body)
	return c.Commit()
}

// SendArg is Send of a procedure's number and an argument behind it, which together fit
// a frame. It is one step where Reserve and Commit are two.
func (c *Conn) SendArg(class uint8, proc uint16, arg string) error {
	n := rpc.ProcSize + len(arg)
	if c.joins(class, n) {
		putArg(c.join(n), proc, arg)
		return c.Commit()
	}
	b, err := c.Reserve(class, n)
	if err != nil {
		return err
	}
	putArg(b, proc, arg)
	return c.Commit()
}

// joins reports whether a message of n bytes can be put into the frame being filled, which
// has its slot, behind others.
func (c *Conn) joins(class uint8, n int) bool {
	return c.fill != 0 && class == c.class && n <= c.rings.payload-c.fill-wire.EntryHeader && n <= c.MaxMessage() && c.end.Err == nil
}

// join is Reserve where joins says so: most messages of a batch are put there, and this is a
// fraction of the work.
func (c *Conn) join(n int) []byte {
	b := c.frame[c.fill : c.fill+wire.EntryHeader+n]
	wire.PutEntry(b, n, 0)
	c.fill += len(b)
	return b[wire.EntryHeader:]
}

func putArg(b []byte, proc uint16, arg string) {
	binary.LittleEndian.PutUint16(b, proc)
	copy(b[rpc.ProcSize:], arg)
}

// Reserve returns n bytes of the frame being filled, to be filled with a message
// of a class and sent by Commit. Errors are those of Send. A message must fit a
// frame.
func (c *Conn) Reserve(class uint8, n int) ([]byte, error) {
	need := wire.EntryHeader + n
	if c.fill != 0 && (class != c.class || need > c.rings.payload-c.fill) {
		if err := c.Flush(); err != nil {
			return nil, err
		}
	}
	switch {
	case c.end.Err != nil:
		return nil, c.end.Err
	case n > c.MaxMessage() || need > c.rings.payload:
		return nil, fmt.Errorf("%w: %d bytes, a frame holds %d and the server takes %d",
			rpc.ErrTooLarge, n, c.rings.payload-wire.EntryHeader, c.MaxMessage())
	case c.full():
		return nil, rpc.ErrWindowFull
	}
	if c.fill == 0 {
		at := c.stageAt() + wire.RequestHeader
		c.class, c.frame = class, c.local.Bytes()[at:at+c.rings.payload]
	}
	b := c.frame[c.fill : c.fill+need : c.fill+need]
	wire.PutEntry(b, n, 0)
	c.fill += need
	return b[wire.EntryHeader:], nil
}

// full reports whether no message can be taken now.
func (c *Conn) full() bool { return c.noSlot() || c.unsent() }

// noSlot reports whether there is no slot for the frame being filled (I1).
func (c *Conn) noSlot() bool { return c.number-c.answered > uint64(c.rings.window) }

// stageAt is where the frame being filled lies in local memory.
func (c *Conn) stageAt() int { return c.writes[c.sendSlot].Local.Off }

// makeWrites makes the WRITEs of all request slots, but for their lengths.
func (c *Conn) makeWrites() {
	c.writes = make([]fabric.WR, c.rings.window)
	for i := range c.writes {
		c.writes[i] = fabric.WR{
			ID: kindWrite, Op: fabric.OpWrite,
			Local:  c.local.Seg(i*c.rings.requestStride(), 0),
			Remote: c.reqs.At(c.rings.requestAt(uint64(i + 1))),
		}
	}
}

// Commit ends the message that Reserve began.
func (c *Conn) Commit() error {
	c.entries++
	c.counted()
	if c.entries >= c.cfg.Batch || c.fill >= c.cfg.FlushBytes {
		return c.Flush()
	}
	if c.entries == 1 {
		c.opened = 0
	}
	return nil
}

// counted counts a message that is sent.
func (c *Conn) counted() {
	c.calls++
	fence.Count(&c.stats.calls, 1)
	if c.batch != nil {
		c.stampSent()
	}
}

// Flush sends the frame being filled, if there is something in it.
func (c *Conn) Flush() error {
	if c.fill == 0 || c.end.Err != nil {
		return c.end.Err
	}
	at := c.stageAt()
	length := wire.SealRequest(c.local.Bytes()[at:], c.number, c.fill, uint16(min(c.cfg.Batch, wire.MaxEntries)),
		wire.Word1{Taken: uint32(c.next - 1), Class: c.class, Entries: uint16(c.entries)}, c.rings.proof)
	w := c.writes[c.sendSlot : c.sendSlot+1]
	w[0].Local.Len, w[0].Flags = length, c.writeFlags(length)
	c.sent[c.sendSlot] = sentFrame{results: c.entries, class: c.class, taken: c.next - 1, bulkEnd: c.out.head}
	if c.sendSlot++; c.sendSlot == c.rings.window {
		c.sendSlot = 0
	}
	if c.number-c.answered == 1 {
		c.policy.await(c.class, c.entries, alone, false)
	}
	c.number++
	c.fill, c.entries = 0, 0
	fence.Count(&c.stats.frames, 1)
	return c.post(w)
}

// writeFlags are the flags of the next WRITE: inline where it fits, and one in a
// window signaled, since answers that are fetched bring their own completions.
func (c *Conn) writeFlags(length int) (f fabric.Flags) {
	if length <= c.inline {
		f |= fabric.FlagInline
	}
	if c.unreported++; c.cfg.SignalAll || c.unreported > c.rings.window {
		f |= fabric.FlagSignaled
		c.unreported = 0
	}
	return f
}

// postWrite posts a WRITE.
func (c *Conn) postWrite(w fabric.WR) error {
	w.Flags |= c.writeFlags(w.Local.Len)
	return c.postOne(w)
}

// postOne posts a request that is not kept ready.
func (c *Conn) postOne(w fabric.WR) error {
	c.one[0] = w
	return c.post(c.one[:])
}

// post posts one request, and takes completions when the queue is full.
func (c *Conn) post(w []fabric.WR) error {
	for {
		_, err := c.end.QP.Post(w)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fabric.ErrQueueFull) {
			c.end.Fail(err)
			return c.end.Err
		}
		if c.reap(); c.end.Err != nil {
			return c.end.Err
		}
	}
}

// postFailed ends the connection, unless only the queue is full.
func (c *Conn) postFailed(err error) {
	if !errors.Is(err, fabric.ErrQueueFull) {
		c.end.Fail(err)
	}
}
