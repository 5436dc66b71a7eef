package rfp

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
)

// serve serves the next frame of a session, if it is there.
func (c *core) serve(s *session) bool {
	slot := &s.slots[s.slot]
	w := wire.Word0(fence.Observe64(slot.word))
	if !w.Is(s.number) || s.slowAt.In() || s.doubt.Waits(c.Sweep) {
		return false
	}
	size := w.Size()
	if size > s.rings.payload {
		c.cut(s, fmt.Sprintf("frame with a payload of %d bytes, agreed were %d", size, s.rings.payload))
		return true
	}
	// The client has read the answer slot last. While the request is served, this
	// CPU gets the lines for writing; results are mostly as long as requests.
	// It comes before the look at the tail, which is a moment behind.
	at := s.answerAt
	fence.ExpectLines(s.answerMem[at : at+min(wire.ResultBytes(size), s.answerStride)])
	tail := fence.Observe64(fence.Word(slot.mem, wire.TailOffset(size)))
	if !wire.MayEnd(tail, s.number, s.rings.proof) {
		return false // the rest is in flight
	}
	in := c.in[:8+size]
	fence.CopyIn(in, slot.mem[8:wire.RequestHeader+size])
	if s.rings.proof {
		if tail != wire.Proof(s.number, w, in) {
			s.doubt.Failed(c.Sweep) // bytes between are in flight
			return false
		}
		s.doubt.Clear()
	}
	s.number++
	s.batch = w.Aux()
	if s.slot++; s.slot == len(s.slots) {
		s.slot = 0
	}
	if s.parked {
		c.unpark(s)
	}
	c.serveFrame(s, wire.UnpackWord1(binary.LittleEndian.Uint64(in)), in[8:])
	return true
}

// serveFrame handles the messages of a frame and makes its answer. payload is
// private (I6).
func (c *core) serveFrame(s *session, w wire.Word1, payload []byte) {
	if !s.take(w.Taken) {
		c.cut(s, "more results taken than there were")
		return
	}
	c.start = 0
	if s.mode(w.Class) != Fetch || c.stats.frames.Load()%sampleEvery == 0 {
		c.start = c.Clock.Now()
	}
	c.pushAll = false
	if c.told = 0; w.Entries > 1 && c.server.cfg.Expect != nil {
		c.announce(payload)
	}
	c.serveMessages(s, w, payload)
}

// announce tells of the messages of a batch. What is no message is found out when
// it is served.
func (c *core) announce(payload []byte) {
	n, whole := 0, -1
	for len(payload) != 0 && n < len(c.batch) {
		entry, rest, marks, err := wire.NextEntry(payload)
		if err != nil {
			break
		}
		if payload = rest; marks != 0 {
			if entry = nil; whole < 0 {
				whole = n
			}
		}
		c.batch[n] = entry
		n++
	}
	c.server.cfg.Expect(c.Index, c.batch[:n])
	if c.told = n; whole < 0 {
		whole = n
	}
	c.whole = whole
}

// halt keeps what is left of a frame until the client has taken results, so
// results that wait are those of one message (I8), or until a piece is there.
func (c *core) halt(s *session, w wire.Word1, payload []byte) {
	if c.fill != 0 {
		c.flush(s, w.Class, false)
	}
	s.halted, s.word1, s.pushAll, s.start = true, w, c.pushAll, c.start
	s.unserved = append(s.unserved[:0], payload...)
}

// proceed goes on with a frame.
func (c *core) proceed(s *session) {
	s.halted = false
	c.told = 0 // other batches were announced since
	c.pushAll, c.start = s.pushAll, s.start
	c.serveMessages(s, s.word1, s.unserved)
}

// serveMessages handles messages; w.Entries are those that may end in payload.
func (c *core) serveMessages(s *session, w wire.Word1, payload []byte) {
	if c.fill = 0; s.areas.news() {
		c.tellAreas(s)
	}
	c.Call.Peer = s.peer
	c.now.session, c.now.payload, c.now.class = s, payload, w.Class
	c.serveRest(s, w, payload, 1)
}

// serveRest handles the messages of a frame from message at on.
func (c *core) serveRest(s *session, w wire.Word1, payload []byte, at int) {
	many := c.server.cfg.ServeMany != nil
	for ; len(payload) != 0; at++ {
		if len(s.backlog) != 0 {
			c.halt(s, w, payload)
			return
		}
		if many && at <= c.told && at <= c.whole && len(s.partial) == 0 {
			if n := c.serveMany(s, w.Class, at, int(w.Entries)); n != 0 {
				payload = payload[c.lengthOf(at, n):]
				w.Entries -= uint16(n)
				if at += n - 1; s.gone {
					return
				}
				continue
			}
		}
		entry, rest, marks, err := wire.NextEntry(payload)
		if err != nil || marks == wire.Failure {
			c.cut(s, "a malformed entry")
			return
		}
		here := payload
		payload = rest
		if c.Call.Announced = 0; marks == 0 && len(s.partial) == 0 && at <= c.told {
			c.Call.Announced = at
		}
		if marks == wire.Bulk {
			c.start = 0 // how long copies take says nothing about the procedure
			p, ok := c.pieceOf(s, entry)
			if !ok {
				c.cut(s, "a malformed piece")
				return
			}
			if !c.collect(s, &p) {
				c.halt(s, w, here) // bytes of it are in flight
				c.slow.Add(s, &s.slowAt)
				return
			}
			if p.More {
				continue
			}
			entry = s.partial
		} else if marks&wire.More != 0 || len(s.partial) != 0 {
			if len(s.partial)+len(entry) > c.server.cfg.MaxMessage {
				c.cut(s, fmt.Sprintf("request longer than %d bytes", c.server.cfg.MaxMessage))
				return
			}
			if s.partial == nil {
				c.needArea(s, ofRequests)
				s.partial = c.spares.borrow(len(entry))
			}
			s.partial = append(s.partial, entry...)
			if marks&wire.More != 0 {
				continue
			}
			entry = s.partial
		}
		if w.Entries == 0 {
			c.cut(s, "more messages in a frame than announced")
			return
		}
		w.Entries--
		c.now.entries, c.now.at, c.now.rest = w.Entries, at, len(payload)
		if c.result(s, w.Class, entry); s.gone {
			return
		}
		if s.partial != nil {
			c.giveBack(s)
		}
	}
	c.flush(s, w.Class, true)
	fence.Count(&c.stats.frames, 1)
}

// giveBack gives back the buffer in which a long request was assembled.
func (c *core) giveBack(s *session) {
	c.spares.giveBack(s.partial)
	s.partial = nil
}

// keepSmall empties a buffer, and gives up one that has become large.
func keepSmall(b []byte) []byte {
	if cap(b) > 64<<10 {
		return nil
	}
	return b[:0]
}

// take notes how many result frames the client says to have taken, in all and
// modulo 2^32. It reports whether that can be.
func (s *session) take(count uint32) bool {
	n := uint64(count - uint32(s.taken))
	if n > s.produced-s.taken {
		return n >= 1<<31 // an older number than one already seen
	}
	s.taken += n
	if n != 0 && s.out.tail != s.out.head {
		s.out.free(s.ends[(s.taken-1)%uint64(s.rings.results)])
	}
	return true
}

// smallRoom is how much room a handler is given at least: with less in the
// frame, a new one is begun.
const smallRoom = 64

// result handles one message and puts its result into the frame.
func (c *core) result(s *session, class uint8, msg []byte) {
	if c.fill != 0 && len(c.payloadOf(s))-c.fill < wire.EntryHeader+smallRoom {
		c.flush(s, class, false)
	}
	fence.Count(&c.Calls, 1)
	s.calls++
	c.Handling = true
	res, err := c.server.cfg.Serve(&c.Call, msg, c.room(s))
	c.Handling = false
	c.settle(s, class, res, err)
}

// room is where the next result goes, if it fits.
func (c *core) room(s *session) []byte {
	frame := c.payloadOf(s)
	return frame[c.fill+wire.EntryHeader : c.fill+wire.EntryHeader : len(frame)]
}

// settle puts the result of a handler into the frame.
func (c *core) settle(s *session, class uint8, res []byte, err error) {
	frame, out := c.payloadOf(s), c.room(s)
	after := c.Call.After
	c.Call.After = nil
	if n := len(res) + len(after); err == nil && n > c.server.cfg.MaxMessage {
		err = c.tooLong(n)
	}
	var marks wire.Marks
	if err != nil {
		res, marks = c.Failure(out, err, c.server.cfg.MaxMessage), wire.Failure
	}
	if len(after) == 0 && serving.InPlace(res, out) {
		wire.PutEntry(frame[c.fill:], len(res), marks)
		c.fill += wire.EntryHeader + len(res)
		return
	}
	if marks == 0 && len(res)+len(after) > len(frame)-wire.EntryHeader {
		if s.inPieces() {
			c.stream(s, class, res, after)
			return
		}
		c.needArea(s, ofResults)
	}
	if err == nil {
		res = c.longOf(res, after)
	}
	c.spill(s, class, res, marks)
}

// payloadOf is the frame being filled, as long as the session's frames are.
func (c *core) payloadOf(s *session) []byte { return c.out[:s.rings.payload] }

// spill copies a result that is not in the frame: into it, into a new one, or
// in parts into several.
func (c *core) spill(s *session, class uint8, res []byte, marks wire.Marks) {
	frame := c.payloadOf(s)
	if c.fill != 0 && len(res) > len(frame)-c.fill-wire.EntryHeader {
		c.flush(s, class, false)
	}
	c.pushAll = c.pushAll || len(res) > c.server.cfg.PushAbove
	for !s.gone {
		n := min(len(res), len(frame)-c.fill-wire.EntryHeader)
		m := marks
		if n < len(res) {
			m |= wire.More
		}
		wire.PutEntry(frame[c.fill:], n, m)
		copy(frame[c.fill+wire.EntryHeader:], res[:n])
		c.fill += wire.EntryHeader + n
		if res = res[n:]; len(res) == 0 {
			return
		}
		c.flush(s, class, false)
	}
}
