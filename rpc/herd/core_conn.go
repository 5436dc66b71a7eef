package herd

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// CoreConn is the connection with one core. Requests are served in the order in which they were
// sent, and their results taken in that order.
type CoreConn struct {
	conn      *Conn
	core      int
	controlAt int // in local memory
	welcomed  bool
	parked    bool // the core does not look: send a wake-up with the next request
	control   uint64

	next     uint64 // number of the request that is sent next
	first    uint64 // the oldest whose result was not taken
	entries  []entry
	reserved int // length of the message being filled, -1 when there is none
	hash     uint64
	free     func() bool // settled
	held     int         // receive of the result that was taken last, -1 when there is none

	timer timer
}

// entry is a request whose result was not taken.
type entry struct {
	bytes   int  // of its WRITE
	message int  // of the message in it
	replied bool // the reply is in receive buf
	failed  bool // it is a failure
	buf     int
	size    int    // of the result
	again   uint64 // last WRITE of it if there was more than one (H5)
}

func (cc *CoreConn) init(c *Conn, core, controlAt int) {
	*cc = CoreConn{
		conn: c, core: core, controlAt: controlAt, next: 1, first: 1, reserved: -1, held: -1,
		entries: make([]entry, c.welcome.window),
	}
	cc.timer.pause = c.cfg.RetryAfter
	cc.free = cc.settled
}

// at returns the slot of a request.
func (cc *CoreConn) at(number uint64) int { return int((number - 1) % uint64(len(cc.entries))) }

// Core returns which core this is the connection with.
func (cc *CoreConn) Core() int { return cc.core }

// Outstanding returns how many requests have a result that was not taken.
func (cc *CoreConn) Outstanding() int { return int(cc.next - cc.first) }

// Send sends a message. msg is copied. hash is the key hash for prefetching.
// rpc.ErrWindowFull says that results must be taken first, or that the fabric has not
// done with an earlier request: Poll, then try again. rpc.ErrTooLarge says that the
// message needs another path. Other errors are the end of the connection.
func (cc *CoreConn) Send(hash uint64, msg []byte) error {
	b, err := cc.Reserve(hash, len(msg))
	if err != nil {
		return err
	}
	copy(b, msg)
	return cc.Commit()
}

// Reserve returns n bytes to be filled with a message, which Commit sends. Errors are
// those of Send. What was reserved before and not committed is forgotten.
func (cc *CoreConn) Reserve(hash uint64, n int) ([]byte, error) {
	c := cc.conn
	switch {
	case c.end.Err != nil:
		return nil, c.end.Err
	case n < 0 || n > c.MaxMessage():
		return nil, fmt.Errorf("%w: %d bytes, a slot holds %d", rpc.ErrTooLarge, n, c.MaxMessage())
	case cc.next-cc.first >= uint64(len(cc.entries)) || !cc.vacant():
		return nil, rpc.ErrWindowFull
	}
	cc.reserved, cc.hash = n, hash
	end := cc.imageAt(cc.next) + c.welcome.slot - trailerSize
	return c.local.Bytes()[end-n : end : end], nil
}

// vacant reports whether the fabric has finished with the request in the place of the next
// request, and takes one more.
func (cc *CoreConn) vacant() bool {
	s := &cc.conn.sender
	return s.reusable(cc.conn, cc.entries[cc.at(cc.next)].again) && s.room(cc.conn)
}

// settled is vacant for waiting.
func (cc *CoreConn) settled() bool {
	cc.conn.Poll()
	return cc.vacant() || cc.conn.end.Err != nil
}

// Settle waits until Reserve fails for no other reason than results that were not taken,
// or until the connection is over. That takes as long as the fabric needs for a WRITE.
func (cc *CoreConn) Settle() {
	for !cc.settled() {
		cc.conn.waiter.Wait(cc.free, idleWait)
	}
}

// imageAt is where the image of a request's slot lies in local memory.
func (cc *CoreConn) imageAt(number uint64) int {
	w := &cc.conn.welcome
	return w.slotAt(cc.core-w.first, cc.at(number))
}

// Commit sends the message that was reserved. Commit without Reserve panics.
func (cc *CoreConn) Commit() error {
	if cc.reserved < 0 {
		panic("herd: Commit without Reserve")
	}
	c := cc.conn
	cc.seal()
	if c.write(cc, cc.next, false) == 0 {
		return c.end.Err
	}
	cc.sent()
	return nil
}

// seal completes the request that was reserved.
func (cc *CoreConn) seal() {
	c, n := cc.conn, cc.reserved
	cc.reserved = -1
	slot := c.welcome.slot
	image := c.local.Bytes()[cc.imageAt(cc.next):][:slot]
	le := binary.LittleEndian
	stamp, end := stampOf(c.welcome.generation, cc.next), slot-trailerSize
	le.PutUint64(image[slot+lengthAt:], lengthWord(image[end-n:end], stamp, c.welcome.proof))
	le.PutUint64(image[slot+keyhashAt:], cc.hash)
	le.PutUint64(image[slot+stampAt:], stamp)
	e := &cc.entries[cc.at(cc.next)]
	*e = entry{bytes: trailerSize + roundUp(n, 8), message: n, buf: -1}
}

// sent notes that the request was written.
func (cc *CoreConn) sent() {
	c := cc.conn
	fence.Count(&c.stats.calls, 1)
	cc.next++
	c.calls++
	if cc.parked {
		cc.parked = false
		cc.sendWakeup()
	}
}

// Next takes the next result; false when it is not there. err is an *rpc.Error when the
// call failed. The result is valid until the next call of Next on this CoreConn.
func (cc *CoreConn) Next() (result []byte, err error, ok bool) {
	c := cc.conn
	if c.end.Domain == nil {
		return nil, nil, false // closed: so is the memory
	}
	if cc.held >= 0 {
		c.postReceive(cc.held)
		cc.held = -1
	}
	e := &cc.entries[cc.at(cc.first)]
	if cc.first == cc.next || !e.replied {
		return nil, nil, false
	}
	cc.held = e.buf
	at := c.inbox.at(e.buf) + fabric.GRHSize + headerSize
	result = c.local.Bytes()[at : at+e.size : at+e.size]
	if e.failed {
		code, text := wire.ParseFailure(result)
		result, err = nil, &rpc.Error{Code: code, Text: text}
	}
	e.replied, e.buf = false, -1
	cc.first++
	c.calls--
	if cc.first == cc.next || !cc.entries[cc.at(cc.first)].replied {
		c.ready--
	}
	fence.Count(&c.stats.replies, 1)
	return result, err, true
}

// Request returns the message whose result Next took last, so that it can be sent by
// another path. It is valid until the next Reserve or Send on this CoreConn.
func (cc *CoreConn) Request() []byte {
	c := cc.conn
	end := cc.imageAt(cc.first-1) + c.welcome.slot - trailerSize
	n := cc.entries[cc.at(cc.first-1)].message
	return c.local.Bytes()[end-n : end : end]
}

// Ready reports whether Next has a result.
func (cc *CoreConn) Ready() bool { return cc.first != cc.next && cc.entries[cc.at(cc.first)].replied }

// mask returns the oldest request without a reply, and which ones from there on have
// none.
func (cc *CoreConn) mask() (number, mask uint64) {
	for n := cc.first; n != cc.next; n++ {
		if cc.entries[cc.at(n)].replied {
			continue
		}
		if mask == 0 {
			number = n
		}
		mask |= 1 << (n - number)
	}
	return number, mask
}
