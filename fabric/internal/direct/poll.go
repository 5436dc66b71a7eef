package direct

import "github.com/remora-kv/remora/fabric"

// Poll implements fabric.CQ.
func (c *CQ) Poll(out []fabric.Completion) int {
	n := c.take(out)
	if n < len(out) && (len(c.listening) != 0 || len(c.backlogged) != 0 || c.Noted()) {
		c.progress()
		n += c.take(out[n:])
	}
	return n
}

// take moves completions out and frees the queue places they stand for (G10).
func (c *CQ) take(out []fabric.Completion) int {
	n := 0
	for n < len(out) && c.head != c.tail {
		d := &c.ring[c.head&c.mask]
		c.head++
		d.unpack(&out[n])
		q := d.qp
		d.qp = nil // the ring is long: it must not keep queue pairs that are closed
		if out[n].Op == fabric.OpRecv {
			q.recvRetired = d.retire
		} else {
			q.sendRetired = d.retire
		}
		n++
	}
	return n
}

// progress does what a NIC would do by itself.
func (c *CQ) progress() {
	if c.Noted() {
		c.Attend()
	}
	if len(c.backlogged) != 0 {
		c.retry()
	}
	c.scan()
}

// scan looks for messages: at the hot sources, and at a few of the others.
func (c *CQ) scan() {
	for i := 0; i < len(c.listening) && i < hotSources; i++ {
		if s := c.listening[i]; s.ready() {
			s.drain()
		}
	}
	if len(c.listening) <= hotSources {
		return
	}
	for n := min(coldSources, len(c.listening)-hotSources); n > 0; n-- {
		if c.cursor < hotSources || c.cursor >= len(c.listening) {
			c.cursor = hotSources
		}
		if c.cursor >= len(c.listening) {
			return // draining closed some
		}
		s := c.listening[c.cursor]
		if s.ready() {
			// A queue pair that has sent is likely to send again: it takes a hot place.
			hot := c.cursor % hotSources
			c.listening[c.cursor], c.listening[hot] = c.listening[hot], s
			s.drain()
		}
		c.cursor++
	}
}

// retry executes backlogs as far as they go.
func (c *CQ) retry() {
	keep := c.backlogged[:0]
	for _, q := range c.backlogged {
		if q.retry(); q.backlog.len() != 0 {
			keep = append(keep, q)
		} else {
			q.inBacklog = false
		}
	}
	clear(c.backlogged[len(keep):])
	c.backlogged = keep
}
