package text

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slowest is the least rate at which a command has to arrive, in bytes per second.
	slowest = 8 << 10
	// restAfter is after how long without a command a connection gives its memory back.
	restAfter = int64(time.Second)
)

// check disconnects clients that are overdue, and takes back the memory of silent ones.
func (l *loop) check() {
	l.checked = l.now
	for _, c := range l.conns {
		if c == nil {
			continue
		}
		if why, over := l.overdue(c); over {
			l.hangUp(c, why)
			continue
		}
		if c.silent() && l.now-c.last > restAfter {
			c.rest()
		}
		l.charge(c)
	}
	l.stats.buffers.Store(int64(l.buffers))
	if l.noFD {
		l.accept()
	}
}

// overdue reports whether a client takes no answers (D3), or whether what the listener waits for
// does not come (D6), and why it is disconnected, "" for one that does not close its side.
func (l *loop) overdue(c *conn) (why string, over bool) {
	stall := int64(l.cfg.Stall)
	switch {
	case c.lingering:
		return "", l.now-c.since >= stall
	case c.backlog() != 0:
		c.began = 0
		return fmt.Sprintf("the client took no answer for %v: a client has to read while it sends", l.cfg.Stall), !l.takes(c) && l.now-c.since >= stall
	case c.num != 0 || c.stuck || c.waiting:
		c.began = 0
		return "", false
	case c.at != c.end || c.skip != 0 || c.skipEnd:
		if c.began == 0 {
			c.began = l.now
		}
		return fmt.Sprintf("the client sent a part of a command and not the rest: it has %v, and a second for each %d bytes", l.cfg.Stall, slowest),
			l.now-c.began >= stall+int64(c.want)*int64(time.Second)/slowest
	case c.began != 0:
		return fmt.Sprintf("the client sent no command for %v after it connected", l.cfg.Stall), l.now-c.began >= stall
	}
	return fmt.Sprintf("the client sent no command for %v", l.cfg.Idle), l.now-c.last >= int64(l.cfg.Idle)
}

// takes reports whether the client has taken bytes since the last check. A socket that is full
// becomes writable only when a third of its buffer is free, which may be minutes for a slow client.
func (l *loop) takes(c *conn) bool {
	unsent, err := unix.IoctlGetInt(c.fd, unix.SIOCOUTQ)
	took := err == nil && unsent < c.unsent
	c.unsent = unsent
	if took {
		c.since = l.now
	}
	return took
}

// silent reports whether nothing of the client is unparsed or unanswered.
func (c *conn) silent() bool {
	return c.at == c.end && c.skip == 0 && !c.skipEnd && c.num == 0 && c.backlog() == 0
}

// rest gives back the memory of a silent connection.
func (c *conn) rest() {
	c.in, c.out, c.at, c.end = nil, nil, 0, 0
	for i := range c.pending {
		c.pending[i].text = nil
	}
}

// charge counts the buffers of a connection.
func (l *loop) charge(c *conn) {
	held := len(c.in) + cap(c.out)
	for i := range c.pending {
		held += cap(c.pending[i].text)
	}
	l.buffers += held - c.held
	c.held = held
}
