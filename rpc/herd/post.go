package herd

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// sendDepth is how many requests and controls the UC queue pair of a client holds.
const sendDepth = 256

// sender counts the requests posted to the UC queue pair. Numbers of WRITEs and SENDs are
// their IDs; done are those known to be complete.
type sender struct {
	depth, posted, signaled, done uint64
	control                       uint64 // the introduction
	one                           [1]fabric.WR
}

// room reports whether something can be posted. Two places are kept for controls, so
// that a wake-up is not kept away by requests.
func (s *sender) room(c *Conn) bool {
	if s.posted-s.done+2 >= s.depth {
		c.reap()
	}
	return s.posted-s.done+2 < s.depth
}

// reusable reports whether what was posted as n, or 0, does not read its memory any
// more.
func (s *sender) reusable(c *Conn, n uint64) bool {
	if n > s.done {
		c.reap()
	}
	return n <= s.done
}

// post posts the work request in s.one, and returns its number; 0 when there is no
// room, or the connection has failed.
func (c *Conn) post(signaled bool) uint64 {
	s := &c.sender
	w := &s.one[0]
	w.ID = s.posted + 1
	if w.Local.Len <= c.inline {
		w.Flags = fabric.FlagInline
	}
	if signaled || c.cfg.SignalAll || s.posted-s.signaled >= s.depth/4 {
		w.Flags |= fabric.FlagSignaled
	}
	if s.posted-s.done >= s.depth {
		return 0
	}
	if _, err := c.end.QP.Post(s.one[:]); err != nil {
		c.end.Fail(err)
		return 0
	}
	if s.posted++; w.Flags&fabric.FlagSignaled != 0 {
		s.signaled = s.posted
	}
	return s.posted
}

// write writes a request, which lies in its image, into its slot.
func (c *Conn) write(cc *CoreConn, number uint64, again bool) uint64 {
	n := cc.entries[cc.at(number)].bytes
	off := cc.imageAt(number) + c.welcome.slot - n
	w := &c.sender.one[0] // field by field: a literal would be made elsewhere and copied
	w.Op, w.Flags = fabric.OpWrite, 0
	w.Local, w.Remote = c.local.Seg(off, n), c.welcome.requests.At(off)
	return c.post(again)
}

// send sends a control that lies in local memory.
func (c *Conn) send(off, n int) uint64 {
	w := &c.sender.one[0]
	w.Op, w.Flags = fabric.OpSend, 0
	w.Local, w.Remote = c.local.Seg(off, n), fabric.Remote{}
	return c.post(true)
}

// sendWakeup tells the core what has no reply. When the last wake-up is still being read, or
// there is no room, it is left out: the next one comes by time.
func (cc *CoreConn) sendWakeup() {
	c := cc.conn
	if !c.sender.reusable(c, cc.control) {
		return
	}
	r := wakeup{core: cc.core}
	if r.number, r.mask = cc.mask(); r.mask == 0 {
		return
	}
	n := r.put(c.local.Bytes()[cc.controlAt : cc.controlAt+controlSize])
	fence.Count(&c.stats.wakeups, 1)
	cc.control = c.send(cc.controlAt, n)
}
