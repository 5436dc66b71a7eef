package herd

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
)

// inbox are the receives of the datagram queue pair: pieces of local memory.
type inbox struct {
	base, size, count int
	one               [1]fabric.RecvWR
}

// spareReceives is how many there are beside two for each request, where the device has
// room for them.
const spareReceives = 16

// init makes room for the replies to all requests of a connection, at least one for each,
// for the result that was taken last from each core, and for word that a core has parked.
func (b *inbox) init(base int, d *dimensions, most int) error {
	requests := d.cores * d.window
	b.base, b.size = base, roundUp(fabric.GRHSize+headerSize+d.message(), lineSize)
	b.count = min(2*requests+spareReceives, most)
	if least := requests + 2*d.cores; b.count < least {
		return fmt.Errorf("%d cores with a window of %d take %d receives, and the device has %d: "+
			"use a smaller Window, or fewer cores: %w", d.cores, d.window, least, most, fabric.ErrInvalid)
	}
	return nil
}

func (b *inbox) bytes() int { return b.count * b.size }

// at is where a receive lies in local memory.
func (b *inbox) at(i int) int { return b.base + i*b.size }

// recvID marks the completions of receives; the rest of the ID is which.
const recvID = 1 << 63

func (c *Conn) postReceive(i int) {
	c.inbox.one[0] = fabric.RecvWR{ID: recvID | uint64(i), Local: c.local.Seg(c.inbox.at(i), c.inbox.size)}
	if _, err := c.ud.PostRecv(c.inbox.one[:]); err != nil {
		c.end.Fail(err)
	}
}

const (
	// timeEvery is in how many polls there is one look at the clock, and reapEvery one
	// at what became of WRITEs.
	timeEvery = 64
	reapEvery = 8
)

// Poll makes progress without waiting, and reports whether a core has a result or the
// connection is over.
func (c *Conn) Poll() bool {
	if c.end.Err != nil {
		return true
	}
	c.takeReplies()
	// The end of an idle connection is noticed before something is sent by it.
	if c.polls++; c.polls%reapEvery == 0 || c.calls == 0 {
		c.reap()
	}
	if c.polls%timeEvery == 0 && c.calls != 0 {
		c.watch()
	}
	return c.ready != 0 || c.end.Err != nil
}

// pollAll is Poll for waiting: it looks at all queues.
func (c *Conn) pollAll() bool {
	c.reap()
	return c.Poll()
}

// Wait waits until a core has a result or the connection is over, and returns true; or
// false when timeout has passed (0 means forever) or there is nothing to wait for.
func (c *Conn) Wait(timeout time.Duration) bool {
	if c.Poll() {
		return true
	}
	end := c.end.Clock.Now() + int64(timeout)
	for c.calls != 0 {
		limit := c.watch()
		if timeout != 0 {
			left := time.Duration(end - c.end.Clock.Now())
			if left <= 0 {
				return c.Poll()
			}
			limit = min(limit, left)
		}
		if c.waiter.Wait(c.pollf, limit) {
			return true
		}
	}
	return false
}

// WaitMore waits until more says so, at most for limit, or until Wake. more polls the
// connection, and what else the caller waits for.
func (c *Conn) WaitMore(more func() bool, limit time.Duration) {
	if c.calls != 0 {
		limit = min(limit, c.watch())
	}
	c.waiter.Wait(more, limit)
}

// Wake ends WaitMore. It may be called from any goroutine.
func (c *Conn) Wake() { c.waiter.Wake() }

// Disconnect has the connection end, which its goroutine notices when it polls. It may be
// called from any goroutine.
func (c *Conn) Disconnect() { _ = c.end.QP.Disconnect() }

// reap takes completions of WRITEs and controls.
func (c *Conn) reap() {
	for {
		n := c.ucq.Poll(c.acks[:])
		for i := range n {
			if comp := &c.acks[i]; comp.Status != fabric.StatusOK {
				c.end.Broken(c.end.QP, comp)
			} else if comp.Op != fabric.OpRecv {
				c.sender.done = max(c.sender.done, comp.ID)
			}
		}
		if n < len(c.acks) {
			return
		}
	}
}

// takeReplies takes datagrams.
func (c *Conn) takeReplies() {
	for {
		n := c.cq.Poll(c.comps[:])
		for i := range n {
			c.received(&c.comps[i])
		}
		if n < len(c.comps) {
			return
		}
	}
}

func (c *Conn) received(comp *fabric.Completion) {
	if comp.Status != fabric.StatusOK {
		c.end.Broken(c.ud, comp)
		return
	}
	i := int(comp.ID &^ recvID)
	at := c.inbox.at(i)
	if !c.datagram(i, c.local.Bytes()[at+fabric.GRHSize:][:max(int(comp.Bytes)-fabric.GRHSize, 0)]) && c.end.Err == nil {
		c.postReceive(i)
	}
}

// datagram takes a datagram, and reports whether its receive is kept.
func (c *Conn) datagram(i int, b []byte) bool {
	h, ok := parseHeader(b)
	index, here := c.welcome.indexOf(int(h.core))
	if !ok || h.generation() != c.welcome.generation || !here {
		fence.Count(&c.stats.unexpected, 1)
		return false
	}
	cc := &c.coreConns[index]
	switch h.kind {
	case kindWelcome:
		cc.welcomed = true
	case kindParked:
		cc.notLookedAt(h.stamp)
	case kindResult, kindFailure:
		return cc.replied(i, h, len(b)-headerSize)
	}
	return false
}

// replied takes a reply (H3).
func (cc *CoreConn) replied(i int, h header, size int) bool {
	c := cc.conn
	number := cc.first + (h.stamp-cc.first)&numberMask
	if number-cc.first >= cc.next-cc.first {
		fence.Count(&c.stats.unexpected, 1)
		return false
	}
	e := &cc.entries[cc.at(number)]
	if e.replied {
		fence.Count(&c.stats.unexpected, 1)
		return false
	}
	if size > c.MaxMessage() {
		c.end.Fail(fmt.Errorf("a result of %d bytes, agreed were %d: %w", size, c.MaxMessage(), rpc.ErrProtocol))
		return false
	}
	e.replied, e.failed, e.buf, e.size = true, h.kind == kindFailure, i, size
	if number == cc.first {
		c.ready++
	}
	return true
}

// notLookedAt takes word that the core has parked the chunk, and waits for the request
// with this stamp (H9). It is old when that request has its reply.
func (cc *CoreConn) notLookedAt(stamp uint64) {
	number := cc.next - (cc.next-stamp)&numberMask
	switch {
	case number == cc.next:
		cc.parked = true
	case number >= cc.first && number < cc.next && !cc.entries[cc.at(number)].replied:
		cc.sendWakeup()
	}
}
