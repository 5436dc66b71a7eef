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
// queue pair broken. The chunk is ignored meanwhile.
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
		if !ch.replyQP.complete(ch.sent) {
			if ch.replyQP.signaled < ch.sent {
				// The next completion may be far away: ask for one.
				ch.replyQP.send(ch.to, ch.session.replies, 0, 0, true)
			}
			if !ch.replyQP.complete(ch.sent) {
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

// renewReplyQPs replaces reply QPs that are broken (H12). Clients whose replies were lost with one
// ask for them by a wake-up. When a reply QP cannot be replaced its clients are cut off: nothing
// would reach them.
func (c *core) renewReplyQPs() {
	for _, q := range c.replyQPs {
		if !q.broken() {
			continue
		}
		why := q.err
		if err := q.renew(); err != nil {
			c.cutByReplyQP(q, err)
			continue
		}
		fence.Count(&c.stats.replaced, 1)
		c.Log.Warn("UD queue pair failed and was replaced", "err", why)
	}
}

// cutByReplyQP cuts off the clients of a reply QP that cannot be replaced. They may come back
// when it can.
func (c *core) cutByReplyQP(q *replyQP, why error) {
	for _, ch := range c.chunks.All {
		if ch.replyQP == q && !ch.disconnected {
			ch.disconnected = true
			fence.Count(&c.stats.cutByReplyQP, 1)
			c.Log.Error("client disconnected: UD queue pair failed and cannot be replaced",
				"peer", ch.session.peer.Addr, "err", why)
			_ = ch.session.qp.Disconnect()
		}
	}
}
