package tcp

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// Poll implements fabric.CQ. What is there is returned without looking at the
// sockets, so that a burst costs one system call however small out is.
func (c *cq) Poll(out []fabric.Completion) int {
	if n := c.take(out); n != 0 {
		c.active()
		return n
	}
	c.drive()
	return c.take(out)
}

// active tells the background thread that the owner polls (I4).
func (c *cq) active() {
	fence.Count(&c.port.polls, 1)
	if others := c.others.Load(); others != nil {
		for _, p := range *others {
			fence.Count(&p.polls, 1)
		}
	}
}

// drive makes the progress that a NIC would make by itself, for the owner.
func (c *cq) drive() {
	c.port.poll()
	if others := c.others.Load(); others != nil {
		for _, p := range *others {
			p.poll()
		}
	}
}
