package herd

import (
	"slices"

	"github.com/remora-kv/remora/internal/fence"
)

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

// mendOutlets makes outlets anew that are broken (H12). Whose replies were lost with one
// rings for them. When that fails its clients are cut off: nothing would reach them.
func (c *Core) mendOutlets() {
	for _, o := range c.outlets {
		if c.ending || !o.broken() {
			continue
		}
		why := o.err
		if err := o.renew(); err != nil {
			c.strand(o, err)
			continue
		}
		fence.Count(&c.stats.outlets, 1)
		c.server.cfg.Log.Warn("an outlet broke and was made anew", "core", c.index, "err", why)
	}
}

// strand cuts off the clients of an outlet that cannot be made anew. They may come back
// when it can.
func (c *Core) strand(o *outlet, why error) {
	for _, ch := range c.chunks {
		if ch.outlet == o && !ch.stranded {
			ch.stranded = true
			fence.Count(&c.stats.stranded, 1)
			c.server.cfg.Log.Error("client cut off: an outlet broke and cannot be made anew",
				"core", c.index, "peer", ch.tenant.peer.Addr, "err", why)
			_ = ch.tenant.qp.Disconnect()
		}
	}
}
