package herd

import (
	"fmt"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// take copies the request that has come into the slot of a chunk (H8), and puts it into
// the pipeline. It leaves it where it is while the place of its reply is being sent.
func (c *Core) take(ch *chunk) {
	if r := &ch.replies[ch.slot]; r.again != 0 {
		if !ch.outlet.complete(r.again) {
			return // (H5)
		}
		r.again = 0
	}
	mem := ch.slots[ch.slot].mem
	length := fence.Observe64(fence.Word(mem, len(mem)+lengthAt))
	n := int(length & 0xFFFF)
	if length>>16 != 0 || n > ch.tenant.size.message() {
		c.cut(ch, fmt.Sprintf("a request of %#x bytes, agreed were %d", length, ch.tenant.size.message()))
		return
	}
	t := c.pipe.at(c.pipe.count)
	t.chunk, t.slot, t.number = ch, ch.slot, ch.number
	t.hash = fence.Observe64(fence.Word(mem, len(mem)+keyhashAt))
	t.msg = t.buf[:n]
	at := len(mem) - trailerSize
	fence.CopyIn(t.msg, mem[at-n:at])
	ch.advance()
	ch.lastSeen, ch.parked = c.sweep, false
	c.push()
}

// serve calls the handler, keeps the reply and sends it.
func (c *Core) serve(t *taken) {
	ch := t.chunk
	if ch == nil {
		return // its tenant is gone
	}
	r := &ch.replies[t.slot]
	out := r.mem[headerSize:headerSize]
	c.call.Core, c.call.Peer, c.call.After = c.index, ch.tenant.peer, nil
	fence.Count(&c.stats.calls, 1)
	ch.calls++
	res, err := c.server.cfg.Serve(&c.call, t.msg, out)
	if n := len(res) + len(c.call.After); err == nil && n > cap(out) {
		err = &rpc.Error{Code: rpc.CodeTooLarge, Text: fmt.Sprintf(
			"herd: result of %d bytes, replies hold %d: use another path", n, cap(out))}
	}
	k := kindResult
	if err != nil {
		k, res = kindFailure, c.failure(out, err)
	} else {
		res = append(inPlace(out, res), c.call.After...)
	}
	r.number, r.size = t.number, headerSize+len(res)
	header{stampOf(ch.tenant.generation, t.number), uint16(c.index), k}.put(r.mem)
	c.reply(ch, r, false)
}

// inPlace has the result of a handler where out is.
func inPlace(out, res []byte) []byte {
	if len(res) != 0 && &res[0] != &out[:1][0] {
		return append(out, res...)
	}
	return out[:len(res)]
}

// failure makes the result of a call that failed.
func (c *Core) failure(out []byte, err error) []byte {
	fence.Count(&c.stats.failures, 1)
	code, text := rpc.Failure(err)
	return wire.AppendFailure(out, code, text[:min(len(text), cap(out)-2)])
}

// reply sends what is in a place of the reply memory, for the first time or again.
func (c *Core) reply(ch *chunk, r *reply, again bool) {
	n := ch.outlet.send(ch.to, ch.tenant.replies, r.off, r.size, again)
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
func (c *Core) notify(ch *chunk, k kind) {
	if ch.noticed != 0 && !ch.outlet.complete(ch.noticed) {
		return
	}
	t := ch.tenant
	at := t.size.noticeAt(ch.lane)
	header{stampOf(t.generation, ch.number), uint16(c.index), k}.put(t.replies.Bytes()[at:])
	inline := headerSize <= ch.outlet.inline
	n := ch.outlet.send(ch.to, t.replies, at, headerSize, !inline) // or nobody would know when the next may follow
	if n == 0 {
		fence.Count(&c.stats.unsent, 1)
		return
	}
	if ch.sent = n; !inline {
		ch.noticed = n
	}
}
