package herd

import "slices"

// enter makes a chunk one of the core's, and welcomes its client.
func (c *Core) enter(ch *chunk) {
	ch.at = len(c.chunks)
	c.chunks = append(c.chunks, ch)
	c.heat(ch)
	c.notify(ch, kindWelcome)
}

// cut ends a client that broke the protocol (H8): the keeper does so when it sees the
// queue pair broken. The chunk is not looked at meanwhile.
func (c *Core) cut(ch *chunk, why string) {
	c.server.cut.Add(1)
	c.server.cfg.Log.Warn("client cut off", "core", c.index, "peer", ch.tenant.peer.Addr, "reason", why)
	ch.stamp = 0 // no request has it
	_ = ch.tenant.qp.Disconnect()
}

// drop lets go of a chunk. A second drop does nothing.
func (c *Core) drop(ch *chunk) {
	if ch.gone {
		return
	}
	ch.gone = true
	c.cool(ch)
	last := c.chunks[len(c.chunks)-1]
	c.chunks[ch.at], last.at = last, ch.at
	c.chunks[len(c.chunks)-1] = nil
	c.chunks = c.chunks[:len(c.chunks)-1]
	for i := range c.pipe.places {
		if c.pipe.places[i].chunk == ch {
			c.pipe.places[i].chunk = nil
		}
	}
	c.retired = append(c.retired, ch)
}

// retire gives back chunks that no SEND reads any more (H7).
func (c *Core) retire() {
	c.retired = slices.DeleteFunc(c.retired, func(ch *chunk) bool {
		if !ch.outlet.complete(ch.sent) {
			if ch.outlet.signaled < ch.sent {
				// The next completion may be far away: ask for one.
				ch.outlet.send(ch.to, ch.tenant.replies, 0, 0, true)
			}
			if !ch.outlet.complete(ch.sent) {
				return false
			}
		}
		c.finish(ch)
		return true
	})
}

// finish gives back the handle and the hold of a chunk.
func (c *Core) finish(ch *chunk) {
	_ = ch.to.Close()
	ch.tenant.release()
}

// checkOutlets ends the clients of an outlet that is broken: nothing would reach them.
func (c *Core) checkOutlets() {
	for _, o := range c.outlets {
		if o.reap(); o.err == nil || o.told {
			continue
		}
		o.told = true
		c.server.cfg.Log.Error("no more replies", "core", c.index, "err", o.err)
		for _, ch := range c.chunks {
			if ch.outlet == o {
				_ = ch.tenant.qp.Disconnect()
			}
		}
	}
}
