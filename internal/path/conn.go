package path

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Conn is the connection with one core: one of rfp and, depending on the path, one for small
// messages and a reader. Results come in the order in which operations were sent (P1).
type Conn struct {
	rfp   *rfp.Driven
	small smallConn // nil on paths without
	long  bool      // the reserved message goes by rfp although there is small
	// repeated says that the oldest operation is one that rfp repeats, because small or
	// the reader could not bring its result.
	repeated bool
	gets     *pendingGets // of small; nil: the caller needs no order

	reader  *reader // nil where memory is not read
	direct  bool    // the reserved message goes by rfp or small as if there were no reader
	reading bool    // the reserved message goes to the reader
	room    []byte  // the reserved message, unless it is direct
	asked   queries // what rfp has in flight, where there are links
}

// class is that of all operations on keys: they take about the same time, and a batch may
// mix them.
const class = uint8(command.Get)

// Plain reports whether the next operation goes by rfp alone: SendKey may send it.
func (c *Conn) Plain() bool { return c.small == nil && (c.reader == nil || !c.wantsReader()) }

// SendKey sends an operation whose argument is a key. Plain must have said that it may.
func (c *Conn) SendKey(op command.Proc, key string) error {
	return c.rfp.SendArg(class, uint16(op), key)
}

// NextIsPlain reports whether the next result comes by rfp alone: NextPlain may take it.
func (c *Conn) NextIsPlain() bool { return c.small == nil && (c.reader == nil || c.nothingNoted()) }

// NextPlain is Next for a result in a frame that has arrived. NextIsPlain must have said that
// it may be called.
func (c *Conn) NextPlain() (result []byte, ok bool) { return c.rfp.NextShort() }

func (c *Conn) nothingNoted() bool {
	r := c.reader
	return r.policy != nil && c.asked.count == 0 && !c.repeated && (r.lost || r.conn.Outstanding() == 0)
}

// WantsHash reports whether the next operation needs the hash of its key, on paths that do not
// always need it.
func (c *Conn) WantsHash() bool { return c.reader != nil && c.reader.wantsHash() }

// Frames returns how many frames were sent by rfp.
func (c *Conn) Frames() uint64 { return c.rfp.Frames() }

// MaxPending returns how many operations can be in flight by rfp.
func (c *Conn) MaxPending() int { return c.rfp.Window() * c.rfp.Batch() }

// Reserve returns room for a message of n bytes, which Commit sends. hash is that of the key.
func (c *Conn) Reserve(op command.Proc, hash uint64, n int) ([]byte, error) {
	if c.direct = c.reader == nil || !c.wantsReader(); !c.direct {
		return c.reserveReader(op, hash, n)
	}
	return c.reserveAsked(op, hash, n)
}

// reserveAsked is Reserve for a message to the server.
func (c *Conn) reserveAsked(op command.Proc, hash uint64, n int) ([]byte, error) {
	if c.small == nil {
		return c.rfp.Reserve(class, n)
	}
	if c.long = n > c.small.MaxMessage(); c.long {
		if c.small.Outstanding() != 0 {
			return nil, rpc.ErrWindowFull
		}
		return c.rfp.Reserve(class, n)
	}
	if c.rfp.Outstanding() != 0 || !c.gets.admit(op, hash) {
		return nil, rpc.ErrWindowFull
	}
	b, err := c.small.Reserve(hash, n)
	if errors.Is(err, rpc.ErrWindowFull) && c.small.Outstanding() == 0 {
		c.small.Settle() // no result will make room
		b, err = c.small.Reserve(hash, n)
	}
	return b, err
}

// Commit sends the message that was reserved.
func (c *Conn) Commit(op command.Proc, hash uint64) error {
	if !c.direct {
		return c.commitReader(op, hash)
	}
	if c.small == nil || c.long {
		return c.rfp.Commit()
	}
	err := c.small.Commit()
	if err == nil {
		c.gets.sent(op, hash)
	}
	return err
}

// SendLong sends a message that does not fit a frame.
func (c *Conn) SendLong(op command.Proc, hash uint64, head, body []byte) error {
	if c.small != nil && c.small.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	if !c.wantsReader() {
		return c.rfp.SendGather(class, head, body)
	}
	if c.reader.conn.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	err := c.rfp.SendGather(class, head, body)
	if err == nil && c.reader.links != nil {
		c.reader.links.drop(hash) // too long to be read by a link
		c.noteAsked(op, hash, false)
	}
	return err
}

// SendFollow follows a link: msg is that of AppendFollow.
func (c *Conn) SendFollow(hash uint64, msg []byte) error {
	return c.Send(&driver.Message{Proc: uint16(command.Follow), Hint: hash, Head: msg})
}

// Send implements driver.Conn.
func (c *Conn) Send(m *driver.Message) error {
	isFollow := command.Proc(m.Proc) == command.Follow
	if isFollow && c.reader != nil && !c.reader.lost || !isFollow && c.wantsReader() {
		return c.sendReader(m)
	}
	return c.sendAsked(m, isFollow)
}

// sendAsked is Send for a message to the server.
func (c *Conn) sendAsked(m *driver.Message, isFollow bool) error {
	if isFollow {
		return &rpc.Error{Code: rpc.CodeNoProcedure, Text: "this connection has no links"}
	}
	n := rpc.ProcSize + len(m.Head) + len(m.Body)
	if c.small == nil || n > c.small.MaxMessage() {
		if c.small != nil && c.small.Outstanding() != 0 {
			return rpc.ErrWindowFull
		}
		return c.rfp.Send(m)
	}
	c.direct = true
	b, err := c.reserveAsked(command.Proc(m.Proc), m.Hint, n)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint16(b, m.Proc)
	copy(b[rpc.ProcSize+copy(b[rpc.ProcSize:], m.Head):], m.Body)
	return c.Commit(command.Proc(m.Proc), m.Hint)
}

// SendFrame is Flush with an error, which says that the frame was not sent.
func (c *Conn) SendFrame() error {
	if c.small != nil && c.rfp.Outstanding() == 0 {
		return nil
	}
	return c.rfp.Conn.Flush()
}

// Flush implements driver.Conn.
func (c *Conn) Flush() { _ = c.SendFrame() }

// Next implements driver.Conn.
func (c *Conn) Next() (result []byte, err error, ok bool) {
	if c.reader != nil {
		return c.nextReader()
	}
	return c.nextAsked()
}

// nextAsked is Next for the answers of the server.
func (c *Conn) nextAsked() (result []byte, err error, ok bool) {
	if c.byRFP() {
		result, err, ok = c.rfp.Next()
		c.repeated = c.repeated && !ok
		return result, err, ok
	}
	if !c.small.Ready() && !c.small.Poll() {
		return nil, nil, false
	}
	result, err, ok = c.small.Next()
	if ok {
		c.gets.taken()
	}
	if err != nil && c.tooLong(err) {
		return c.repeat()
	}
	return result, err, ok
}

// byRFP reports whether the next answer comes by rfp.
func (c *Conn) byRFP() bool { return c.small == nil || c.repeated || c.small.Outstanding() == 0 }

// tooLong reports whether the result of the last small call did not fit, and the call may be
// repeated.
func (c *Conn) tooLong(err error) bool {
	e, ok := CallError(err)
	return ok && e.Code == rpc.CodeTooLarge && command.Proc(binary.LittleEndian.Uint16(c.small.Request())).Idempotent()
}

// repeat sends the call whose result was taken last by rfp, and returns its result if that
// has arrived.
func (c *Conn) repeat() (result []byte, err error, ok bool) {
	if err := c.rfp.Conn.Send(class, c.small.Request()); err != nil {
		return nil, err, true
	}
	c.Flush()
	c.repeated = true
	return c.nextAsked()
}

// Land implements driver.Lander: long results come by rfp.
func (c *Conn) Land(room func(n int) []byte) { c.rfp.Land(room) }

// Leave implements driver.Lander.
func (c *Conn) Leave() { c.rfp.Leave() }

// Poll implements driver.Conn.
func (c *Conn) Poll() bool {
	switch {
	case c.readerIsNext():
		return c.reader.conn.Poll()
	case c.small == nil:
		return c.rfp.Poll()
	case !c.byRFP():
		return c.small.Poll()
	case c.rfp.Outstanding() == 0: // nothing is in flight: either may be lost
		return c.small.Poll() || c.rfp.Poll()
	}
	// Requests of herd may have to be sent again meanwhile.
	return c.rfp.Poll() || c.small.Poll() && c.small.Err() != nil
}

// Wait waits until there is something for Next, or for the given time.
func (c *Conn) Wait(timeout time.Duration) bool {
	if c.readerIsNext() {
		return c.reader.conn.Wait(timeout)
	}
	if c.byRFP() {
		return c.rfp.Wait(timeout)
	}
	return c.small.Wait(timeout)
}

// WaitMore implements driver.Conn.
func (c *Conn) WaitMore(more func() bool, limit time.Duration) {
	if c.readerIsNext() {
		c.reader.conn.WaitMore(more, limit)
	} else if c.small == nil || c.rfp.Outstanding() != 0 {
		c.rfp.WaitMore(more, limit)
	} else {
		c.small.WaitMore(more, limit)
	}
}

// Wake implements driver.Conn.
func (c *Conn) Wake() {
	c.rfp.Wake()
	if c.small != nil {
		c.small.Wake()
	}
	if c.reader != nil {
		c.reader.conn.Wake()
	}
}

// Err implements driver.Conn.
func (c *Conn) Err() error {
	err := c.rfp.Err()
	if err == nil && c.small != nil {
		err = c.small.Err()
	}
	if err == nil && c.reader != nil && c.reader.policy == nil {
		err = c.reader.conn.Err()
	}
	return err
}

// Disconnect implements driver.Conn.
func (c *Conn) Disconnect() {
	c.rfp.Disconnect()
	if c.small != nil {
		c.small.Disconnect()
	}
	if c.reader != nil {
		c.reader.conn.Disconnect()
	}
}

// Close implements driver.Conn.
func (c *Conn) Close() error {
	err := c.rfp.Close()
	if c.small != nil {
		err = errors.Join(err, c.small.Close())
	}
	if c.reader != nil {
		err = errors.Join(err, c.reader.conn.Close())
	}
	return err
}
