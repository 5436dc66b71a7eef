package herd

import (
	"slices"

	"github.com/remora-kv/remora/internal/fence"
)

// enter makes a chunk one of the core's, and welcomes its client.
func (c *core) enter(ch *chunk) {
	if c.Ending() {
		ch.gone = true
		c.finish(ch)
		return
	}
	c.chunks.Add(ch, &ch.at)
	c.heat(ch)
	c.notify(ch, kindWelcome)
}

// cut ends a client that broke the protocol (H8): the registry does so when it sees the
// queue pair broken. The chunk is not looked at meanwhile.
func (c *core) cut(ch *chunk, why string) {
	c.server.clients.CutOff(ch.session.qp, why)
	ch.stamp = 0 // no request has it
	_ = ch.session.qp.Disconnect()
}

// drop lets go of a chunk. A second drop does nothing.
func (c *core) drop(ch *chunk) {
	if ch.gone {
		return
	}
	ch.gone = true
	c.hot.Remove(&ch.hotAt)
	c.chunks.Remove(&ch.at)
	for i := range c.pipe.places {
		if c.pipe.places[i].chunk == ch {
			c.pipe.places[i].chunk = nil
		}
	}
	c.retired = append(c.retired, ch)
}

// retire gives back chunks that no SEND reads any more (H7).
func (c *core) retire() {
	c.retired = slices.DeleteFunc(c.retired, func(ch *chunk) bool {
		if !ch.outlet.complete(ch.sent) {
			if ch.outlet.signaled < ch.sent {
				// The next completion may be far away: ask for one.
				ch.outlet.send(ch.to, ch.session.replies, 0, 0, true)
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
func (c *core) finish(ch *chunk) {
	_ = ch.to.Close()
	ch.session.release()
}

// mendOutlets makes outlets anew that are broken (H12). Clients whose replies were lost with one
// ring for them. When that fails they are cut off: nothing would reach them.
func (c *core) mendOutlets() {
	for _, o := range c.outlets {
		if !o.broken() {
			continue
		}
		why := o.err
		if err := o.renew(); err != nil {
			c.strand(o, err)
			continue
		}
		fence.Count(&c.stats.outlets, 1)
		c.Log.Warn("an outlet broke and was made anew", "err", why)
	}
}

// strand cuts off the clients of an outlet that cannot be made anew. They may come back
// when it can.
func (c *core) strand(o *outlet, why error) {
	for _, ch := range c.chunks.All {
		if ch.outlet == o && !ch.stranded {
			ch.stranded = true
			fence.Count(&c.stats.stranded, 1)
			c.Log.Error("client cut off: an outlet broke and cannot be made anew",
				"peer", ch.session.peer.Addr, "err", why)
			_ = ch.session.qp.Disconnect()
		}
	}
}
