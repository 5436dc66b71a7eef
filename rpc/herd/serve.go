package herd

import (
	"fmt"

	"github.com/remora-kv/remora/internal/fence"
)

// take copies the request that has come into the slot of a chunk (H8), and puts it into
// the pipeline. It leaves it where it is while the place of its reply is being sent, and while the
// reply QP has no room for its reply: one that was dropped would be asked for, which is more work than it was;
// or while its message is not there whole, and reports false then.
func (c *core) take(ch *chunk) bool {
	if !ch.replyQP.room(c.pipe.count + 1) {
		return true
	}
	if r := &ch.replies[ch.slot]; r.again != 0 {
		if !ch.replyQP.complete(r.again) {
			return true // (H5): that is not long, and nothing wakes for it
		}
		r.again = 0
	}
	mem := ch.slots[ch.slot].mem
	length := fence.Observe64(fence.Word(mem, len(mem)+lengthAt))
	n, proof := int(length&0xFFFF), ch.session.proof
	if most := ch.session.size.message(); n > most || length>>16 != 0 && !proof {
		if proof {
			return c.notYet(ch)
		}
		c.cut(ch, fmt.Sprintf("a request of %#x bytes, agreed were %d", length, most))
		return true
	}
	t := c.pipe.at(c.pipe.count)
	t.hash = fence.Observe64(fence.Word(mem, len(mem)+keyhashAt))
	t.msg = t.buf[:n]
	at := len(mem) - trailerSize
	fence.CopyIn(t.msg, mem[at-n:at])
	if proof && length != lengthWord(t.msg, ch.stamp, true) {
		return c.notYet(ch)
	}
	t.chunk, t.slot, t.number = ch, ch.slot, ch.number
	ch.doubt.Clear()
	ch.advance()
	ch.lastSeen, ch.parked = c.Sweep, false
	c.push()
	return true
}

// notYet leaves a request that does not fit its checksum for a later look (H1).
func (c *core) notYet(ch *chunk) bool {
	ch.doubt.Failed(c.Sweep)
	return false
}

// serve calls the handler for the oldest request of the pipeline.
func (c *core) serve(t *taken) {
	ch := t.chunk
	if ch == nil {
		return // its session is gone
	}
	c.Call.Peer, c.Call.After = ch.session.peer, nil
	fence.Count(&c.Calls, 1)
	ch.calls++
	c.Handling = true
	res, err := c.server.cfg.Serve(&c.Call, t.msg, ch.replies[t.slot].mem[headerSize:headerSize])
	c.Handling = false
	c.answer(t, res, err)
}

// goOn fails the call whose handler has panicked, and forgets its request.
func (c *core) goOn() {
	err := c.Panic
	c.Panic = nil
	c.answer(c.pipe.at(0), nil, err)
	c.pipe.pop()
}

// answer keeps what the handler returned and sends it.
func (c *core) answer(t *taken, res []byte, err error) {
	ch := t.chunk
	r := &ch.replies[t.slot]
	k := kindResult
	res, failed := c.Result(r.mem[headerSize:headerSize], res, err)
	if failed {
		k = kindFailure
	}
	r.number, r.size = t.number, headerSize+len(res)
	header{stampOf(ch.session.generation, t.number), uint16(c.Index), k}.put(r.mem)
	c.reply(ch, r, false)
}

// reply sends the reply in a place of the reply memory, for the first time or again.
func (c *core) reply(ch *chunk, r *reply, again bool) {
	n := ch.replyQP.send(ch.to, ch.session.replies, r.off, r.size, again)
	if n == 0 {
		fence.Count(&c.stats.unsent, 1)
		return
	}
	if ch.sent = n; again {
		r.again = n
		fence.Count(&c.stats.resent, 1)
	}
}

// notify sends a datagram that is no reply. When the last one is still being read it
// is left out, like one that is lost.
func (c *core) notify(ch *chunk, k kind) {
	if ch.noticed != 0 && !ch.replyQP.complete(ch.noticed) {
		return
	}
	t := ch.session
	at := t.size.noticeAt(ch.index)
	header{stampOf(t.generation, ch.number), uint16(c.Index), k}.put(t.replies.Bytes()[at:])
	inline := headerSize <= ch.replyQP.inline
	n := ch.replyQP.send(ch.to, t.replies, at, headerSize, !inline) // or it would not be known when the next may follow
	if n == 0 {
		fence.Count(&c.stats.unsent, 1)
		return
	}
	if ch.sent = n; !inline {
		ch.noticed = n
	}
}
