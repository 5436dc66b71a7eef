package text

import "slices"

// reserve reports whether a connection may have memory for its next command. If it may not, it is
// not read, and has its turn when others have released theirs (D4).
func (l *loop) reserve(c *conn) bool {
	if c.want <= inSize || c.reserved != 0 {
		return true
	}
	need := l.need(c)
	if len(l.uploads) == 0 && l.reserved+need <= l.cfg.Uploads {
		l.grant(c, need)
		return true
	}
	c.waiting = true
	l.uploads = append(l.uploads, c)
	return false
}

// need returns how much to reserve for a long command: all that there can be while its line has no
// end, so that nobody who has memory waits for more.
func (l *loop) need(c *conn) int {
	if c.announced() {
		return c.most()
	}
	return longestCommand(l.cfg.MaxValue)
}

// longestCommand returns the length of the longest command.
func longestCommand(maxValue int) int { return MaxLine + 2 + maxValue + 2 }

func (l *loop) grant(c *conn, need int) {
	l.reserved += need
	c.reserved, c.waiting = need, false
}

// release gives what a connection has reserved to those that wait.
func (l *loop) release(c *conn) {
	if c.reserved == 0 {
		return
	}
	l.reserved -= c.reserved
	c.reserved = 0
	l.admitUploads()
}

// admitUploads goes on with the first of the connections that wait for memory, if there is some.
func (l *loop) admitUploads() {
	for len(l.uploads) != 0 {
		first := l.uploads[0]
		need := l.need(first)
		if l.reserved+need > l.cfg.Uploads {
			return
		}
		l.grant(first, need)
		l.queue(first)
		l.uploads = slices.Delete(l.uploads, 0, 1)
	}
}

// forget uncounts a connection that is closed.
func (l *loop) forget(c *conn) {
	l.buffers -= c.held
	l.stats.buffers.Store(int64(l.buffers)) // the loop checks nothing when this was the last connection
	if c.waiting {
		c.waiting = false
		l.uploads = slices.DeleteFunc(l.uploads, func(w *conn) bool { return w == c })
		l.admitUploads() // the one behind it may need less
	}
	l.release(c)
}
