package remora

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
)

// coreConn is the connection with one core: that of rfp; on PathHerd, PathSendRecv and PathPilaf
// one of herd or sendrecv beside it, which takes all that is short; and where items are found
// by READs, one for these. It belongs to one goroutine at
// a time, but for Wake and Disconnect.
//
// Operations are answered in the order in which they were sent, whatever way they
// take: what takes another way than those before it is sent when they have their
// results (R6).
type coreConn struct {
	rfp   *rfp.Driven
	short shortConn // nil on other paths
	lane  shortLane
	long  bool // what was reserved is in a frame of rfp
	// again says that the oldest operation is a get that rfp repeats, because its
	// result was not short.
	again bool
	gets  *gets // of lane, nil for callers who do not care for their order

	sight *sight  // nil where nothing is read
	plain bool    // what was reserved is asked for as if there were no sight
	seen  bool    // what was reserved is looked for by sight
	room  []byte  // what was reserved
	asked queries // what rfp has on its way beside links
}

// bare reports whether the next operation goes by rfp as if there were nothing beside it.
func (c *coreConn) bare() bool { return c.lane == nil && (c.sight == nil || !c.heeds()) }

// unnoted reports whether the next result is one of rfp about which nothing was noted.
func (c *coreConn) unnoted() bool { return c.lane == nil && (c.sight == nil || c.nothingNoted()) }

func (c *coreConn) nothingNoted() bool {
	s := c.sight
	return s.habit != nil && c.asked.count == 0 && !c.again && (s.gone || s.conn.Outstanding() == 0)
}

// reserve returns room for n bytes of a message, which commit sends. hash is that of
// the key.
func (c *coreConn) reserve(op command.Proc, hash uint64, n int) ([]byte, error) {
	if c.plain = c.sight == nil || !c.heeds(); !c.plain {
		return c.reserveSeen(op, hash, n)
	}
	return c.reserveAsked(op, hash, n)
}

// reserveAsked is reserve for what the server is asked.
func (c *coreConn) reserveAsked(op command.Proc, hash uint64, n int) ([]byte, error) {
	if c.lane == nil {
		return c.rfp.Reserve(class, n)
	}
	if c.long = n > c.short.MaxMessage(); c.long {
		if c.lane.Outstanding() != 0 {
			return nil, rpc.ErrWindowFull
		}
		return c.rfp.Reserve(class, n)
	}
	if c.rfp.Outstanding() != 0 || !c.gets.admit(op, hash) {
		return nil, rpc.ErrWindowFull
	}
	b, err := c.lane.Reserve(hash, n)
	if errors.Is(err, rpc.ErrWindowFull) && c.lane.Outstanding() == 0 {
		c.lane.Settle() // no result will make room
		b, err = c.lane.Reserve(hash, n)
	}
	return b, err
}

// commit sends the message that was reserved.
func (c *coreConn) commit(op command.Proc, hash uint64) error {
	if !c.plain {
		return c.commitSeen(op, hash)
	}
	if c.lane == nil || c.long {
		return c.rfp.Commit()
	}
	err := c.lane.Commit()
	if err == nil {
		c.gets.sent(op, hash)
	}
	return err
}

// sendLong sends a message that fits no frame.
func (c *coreConn) sendLong(op command.Proc, hash uint64, head, body []byte) error {
	if c.lane != nil && c.lane.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	if !c.heeds() {
		return c.rfp.SendGather(class, head, body)
	}
	if c.sight.conn.Outstanding() != 0 {
		return rpc.ErrWindowFull
	}
	err := c.rfp.SendGather(class, head, body)
	if err == nil && c.sight.links != nil {
		c.noteAsked(op, hash, false)
	}
	return err
}

// Send implements driver.Conn.
func (c *coreConn) Send(m *driver.Message) error {
	isChase := command.Proc(m.Proc) == opChase
	if isChase && c.sight != nil && !c.sight.gone || !isChase && c.heeds() {
		return c.sendSeen(m)
	}
	return c.sendAsked(m, isChase)
}

// sendAsked is Send for what the server is asked.
func (c *coreConn) sendAsked(m *driver.Message, isChase bool) error {
	if isChase {
		return &rpc.Error{Code: rpc.CodeNoProcedure, Text: "this connection has no links"}
	}
	n := rpc.ProcSize + len(m.Head) + len(m.Body)
	if c.lane == nil || n > c.short.MaxMessage() {
		if c.lane != nil && c.lane.Outstanding() != 0 {
			return rpc.ErrWindowFull
		}
		return c.rfp.Send(m)
	}
	c.plain = true
	b, err := c.reserveAsked(command.Proc(m.Proc), m.Hint, n)
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint16(b, m.Proc)
	copy(b[rpc.ProcSize+copy(b[rpc.ProcSize:], m.Head):], m.Body)
	return c.commit(command.Proc(m.Proc), m.Hint)
}

// flush sends what waits in a frame. Its error says that this was not sent.
func (c *coreConn) flush() error {
	if c.lane != nil && c.rfp.Outstanding() == 0 {
		return nil
	}
	return c.rfp.Conn.Flush()
}

// Flush implements driver.Conn.
func (c *coreConn) Flush() { _ = c.flush() }

// Next implements driver.Conn.
func (c *coreConn) Next() (result []byte, err error, ok bool) {
	if c.sight != nil {
		return c.nextSeen()
	}
	return c.nextAsked()
}

// nextAsked is Next for what the server was asked.
func (c *coreConn) nextAsked() (result []byte, err error, ok bool) {
	if c.byRFP() {
		result, err, ok = c.rfp.Next()
		c.again = c.again && !ok
		return result, err, ok
	}
	if !c.lane.Ready() && !c.short.Poll() {
		return nil, nil, false
	}
	result, err, ok = c.lane.Next()
	if ok {
		c.gets.taken()
	}
	if err != nil && c.tooLong(err) {
		return c.repeat()
	}
	return result, err, ok
}

// byRFP reports whether the next result comes by rfp.
func (c *coreConn) byRFP() bool { return c.lane == nil || c.again || c.lane.Outstanding() == 0 }

// tooLong reports whether the result of the last call by lane did not fit, and the call
// can be repeated.
func (c *coreConn) tooLong(err error) bool {
	e, ok := callFailed(err)
	return ok && e.Code == rpc.CodeTooLarge && idempotent(command.Proc(binary.LittleEndian.Uint16(c.lane.Request())))
}

// repeat sends the call whose result was taken last by rfp, and returns its result if it
// is there at once.
func (c *coreConn) repeat() (result []byte, err error, ok bool) {
	if err := c.rfp.Conn.Send(class, c.lane.Request()); err != nil {
		return nil, err, true
	}
	c.Flush()
	c.again = true
	return c.nextAsked()
}

// Land implements driver.Lander: what is long comes by rfp.
func (c *coreConn) Land(room func(n int) []byte) { c.rfp.Land(room) }

// Leave implements driver.Lander.
func (c *coreConn) Leave() { c.rfp.Leave() }

// Poll implements driver.Conn.
func (c *coreConn) Poll() bool {
	switch {
	case c.looking():
		return c.sight.conn.Poll()
	case c.lane == nil:
		return c.rfp.Poll()
	case !c.byRFP():
		return c.short.Poll()
	case c.rfp.Outstanding() == 0: // nothing is on its way: either of them may be over
		return c.short.Poll() || c.rfp.Poll()
	}
	// Requests of herd may have to be sent again meanwhile.
	return c.rfp.Poll() || c.short.Poll() && c.short.Err() != nil
}

// Wait waits until there is something for Next, or for the given time.
func (c *coreConn) Wait(timeout time.Duration) bool {
	if c.looking() {
		return c.sight.conn.Wait(timeout)
	}
	if c.byRFP() {
		return c.rfp.Wait(timeout)
	}
	return c.short.Wait(timeout)
}

// WaitMore implements driver.Conn.
func (c *coreConn) WaitMore(more func() bool, nap time.Duration) {
	if c.looking() {
		c.sight.conn.WaitMore(more, nap)
	} else if c.lane == nil || c.rfp.Outstanding() != 0 {
		c.rfp.WaitMore(more, nap)
	} else {
		c.short.WaitMore(more, nap)
	}
}

// Wake implements driver.Conn.
func (c *coreConn) Wake() {
	c.rfp.Wake()
	if c.short != nil {
		c.short.Wake()
	}
	if c.sight != nil {
		c.sight.conn.Wake()
	}
}

// Err implements driver.Conn.
func (c *coreConn) Err() error {
	err := c.rfp.Err()
	if err == nil && c.short != nil {
		err = c.short.Err()
	}
	if err == nil && c.sight != nil && c.sight.habit == nil {
		err = c.sight.conn.Err()
	}
	return err
}

// Disconnect implements driver.Conn.
func (c *coreConn) Disconnect() {
	c.rfp.Disconnect()
	if c.short != nil {
		c.short.Disconnect()
	}
	if c.sight != nil {
		c.sight.conn.Disconnect()
	}
}

// Close implements driver.Conn.
func (c *coreConn) Close() error {
	err := c.rfp.Close()
	if c.short != nil {
		err = errors.Join(err, c.short.Close())
	}
	if c.sight != nil {
		err = errors.Join(err, c.sight.conn.Close())
	}
	return err
}

// inOrder has operations on one key happen in the order in which they are sent.
func (c *coreConn) inOrder() {
	if c.short != nil {
		c.gets = &gets{hashes: make([]uint64, c.short.Window())}
	}
}

// gets knows which keys are being got by what is short. A get whose result does not fit is
// repeated, when operations that were sent after it have happened: so no change of its
// key is sent before its result is there. The zero value is of nobody who cares.
type gets struct {
	hashes       []uint64 // ring: of operations without a result, 0 of those that are no gets
	first, count int
}

// admit reports whether an operation can be sent.
func (g *gets) admit(op command.Proc, hash uint64) bool {
	if g == nil || op == command.Get {
		return true
	}
	for i := range g.count {
		if g.hashes[g.at(i)] == hash|1 {
			return false
		}
	}
	return true
}

func (g *gets) at(i int) int {
	if i += g.first; i >= len(g.hashes) {
		i -= len(g.hashes)
	}
	return i
}

// sent notes an operation that was sent.
func (g *gets) sent(op command.Proc, hash uint64) {
	if g == nil {
		return
	}
	if hash |= 1; op != command.Get {
		hash = 0
	}
	g.hashes[g.at(g.count)] = hash
	g.count++
}

// taken notes that the oldest has its result.
func (g *gets) taken() {
	if g != nil {
		g.first = g.at(1)
		g.count--
	}
}
