package herd

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// Lane is the way to one core. Requests are served in the order in which they were
// sent, and their results taken in that order.
type Lane struct {
	conn      *Conn
	core      int
	controlAt int // in local memory
	welcomed  bool
	parked    bool // the core does not look: ring with the next request
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

func (l *Lane) init(c *Conn, core, controlAt int) {
	*l = Lane{
		conn: c, core: core, controlAt: controlAt, next: 1, first: 1, reserved: -1, held: -1,
		entries: make([]entry, c.welcome.window),
	}
	l.timer.pause = c.cfg.RetryAfter
	l.free = l.settled
}

// at returns the slot of a request.
func (l *Lane) at(number uint64) int { return int((number - 1) % uint64(len(l.entries))) }

// Core returns which core this is the way to.
func (l *Lane) Core() int { return l.core }

// Outstanding returns how many requests have a result that was not taken.
func (l *Lane) Outstanding() int { return int(l.next - l.first) }

// Send sends a message. msg is copied. hash is what the server is to prefetch by.
// rpc.ErrWindowFull says that results must be taken first, or that the fabric has not
// done with an earlier request: Poll, then try again. rpc.ErrTooLarge says that the
// message needs another path. Other errors are the end of the connection.
func (l *Lane) Send(hash uint64, msg []byte) error {
	b, err := l.Reserve(hash, len(msg))
	if err != nil {
		return err
	}
	copy(b, msg)
	return l.Commit()
}

// Reserve returns n bytes to be filled with a message, which Commit sends. Errors are
// those of Send. What was reserved before and not committed is forgotten.
func (l *Lane) Reserve(hash uint64, n int) ([]byte, error) {
	c := l.conn
	switch {
	case c.end.Err != nil:
		return nil, c.end.Err
	case n < 0 || n > c.MaxMessage():
		return nil, fmt.Errorf("%w: %d bytes, a slot holds %d", rpc.ErrTooLarge, n, c.MaxMessage())
	case l.next-l.first >= uint64(len(l.entries)) || !l.vacant():
		return nil, rpc.ErrWindowFull
	}
	l.reserved, l.hash = n, hash
	end := l.imageAt(l.next) + c.welcome.slot - trailerSize
	return c.local.Bytes()[end-n : end : end], nil
}

// vacant reports whether the fabric has done with what was in the place of the next
// request, and takes one more.
func (l *Lane) vacant() bool {
	s := &l.conn.sender
	return s.reusable(l.conn, l.entries[l.at(l.next)].again) && s.room(l.conn)
}

// settled is vacant for waiting.
func (l *Lane) settled() bool {
	l.conn.Poll()
	return l.vacant() || l.conn.end.Err != nil
}

// Settle waits until Reserve fails for no other reason than results that were not taken,
// or until the connection is over. That takes as long as the fabric needs for a WRITE.
func (l *Lane) Settle() {
	for !l.settled() {
		l.conn.waiter.Wait(l.free, idleWait)
	}
}

// imageAt is where the image of a request's slot lies in local memory.
func (l *Lane) imageAt(number uint64) int {
	w := &l.conn.welcome
	return w.slotAt(l.core-w.first, l.at(number))
}

// Commit sends the message that was reserved. Commit without Reserve panics.
func (l *Lane) Commit() error {
	if l.reserved < 0 {
		panic("herd: Commit without Reserve")
	}
	c, n := l.conn, l.reserved
	l.reserved = -1
	slot := c.welcome.slot
	image := c.local.Bytes()[l.imageAt(l.next):][:slot]
	le := binary.LittleEndian
	le.PutUint64(image[slot+lengthAt:], uint64(n))
	le.PutUint64(image[slot+keyhashAt:], l.hash)
	le.PutUint64(image[slot+stampAt:], stampOf(c.welcome.generation, l.next))
	e := &l.entries[l.at(l.next)]
	*e = entry{bytes: trailerSize + roundUp(n, 8), message: n, buf: -1}
	if c.write(l, l.next, false) == 0 {
		return c.end.Err
	}
	fence.Count(&c.stats.calls, 1)
	l.next++
	c.calls++
	if l.parked {
		l.parked = false
		l.ring()
	}
	return nil
}

// Next takes the next result; false when it is not there. err is an *rpc.Error when the
// call failed. The result is valid until the next call of Next on this lane.
func (l *Lane) Next() (result []byte, err error, ok bool) {
	c := l.conn
	if c.end.Domain == nil {
		return nil, nil, false // closed: so is the memory
	}
	if l.held >= 0 {
		c.postReceive(l.held)
		l.held = -1
	}
	e := &l.entries[l.at(l.first)]
	if l.first == l.next || !e.replied {
		return nil, nil, false
	}
	l.held = e.buf
	at := c.inbox.at(e.buf) + fabric.GRHSize + headerSize
	result = c.local.Bytes()[at : at+e.size : at+e.size]
	if e.failed {
		code, text := wire.ParseFailure(result)
		result, err = nil, &rpc.Error{Code: code, Text: text}
	}
	e.replied, e.buf = false, -1
	l.first++
	c.calls--
	if l.first == l.next || !l.entries[l.at(l.first)].replied {
		c.ready--
	}
	fence.Count(&c.stats.replies, 1)
	return result, err, true
}

// Request returns the message whose result Next took last, so that it can be sent by
// another path. It is valid until the next Reserve or Send on this lane.
func (l *Lane) Request() []byte {
	c := l.conn
	end := l.imageAt(l.first-1) + c.welcome.slot - trailerSize
	n := l.entries[l.at(l.first-1)].message
	return c.local.Bytes()[end-n : end : end]
}

// Ready reports whether Next has a result.
func (l *Lane) Ready() bool { return l.first != l.next && l.entries[l.at(l.first)].replied }

// mask returns the oldest request without a reply, and which ones from there on have
// none.
func (l *Lane) mask() (number, mask uint64) {
	for n := l.first; n != l.next; n++ {
		if l.entries[l.at(n)].replied {
			continue
		}
		if mask == 0 {
			number = n
		}
		mask |= 1 << (n - number)
	}
	return number, mask
}
