package sendrecv

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// completions takes requests, ends of SENDs and ends of queue pairs.
func (c *Core) completions() bool {
	worked := false
	for _, p := range c.ports {
		if p.live == 0 {
			continue
		}
		comps := p.take()
		for i := range comps {
			comp := &comps[i]
			s := c.of(comp.ID)
			switch {
			case s == nil: // gone
			case comp.Status != fabric.StatusOK:
				c.broken(s, comp)
			case comp.Op == fabric.OpRecv:
				c.received(s, comp)
			default:
				s.sent()
			}
		}
		worked = worked || len(comps) != 0
	}
	return worked
}

// received takes a request. It is checked here and served later, where it is (S5).
func (c *Core) received(s *session, comp *fabric.Completion) {
	at, n := s.size.receiveAt(s.arrived), int(comp.Bytes)
	h, ok := parseHeader(s.mem[at : at+min(n, s.size.sendBytes())])
	switch {
	case comp.HasImm:
		c.cut(s, "a WRITE, which is no request")
		return
	case !ok || h.kind != kindRequest || h.number != uint32(s.arrived+1):
		c.cut(s, fmt.Sprintf("%d bytes that are not request %d", n, s.arrived+1))
		return
	case s.arrived-s.served >= uint64(s.size.window):
		c.cut(s, fmt.Sprintf("more requests than its window of %d", s.size.window))
		return
	}
	s.lengths[s.arrived%uint64(len(s.lengths))] = n - headerSize
	s.arrived++
	if !s.due {
		s.due = true
		c.due = append(c.due, s)
	}
}

// serveDue serves what has come, session by session, and reports whether there was
// something that could be served. Sessions that are stalled stay due (S7).
func (c *Core) serveDue() bool {
	if c.server.cfg.Expect != nil {
		c.announce()
	}
	worked, kept := false, 0
	for _, s := range c.due {
		if s.gone {
			continue
		}
		before := s.served
		c.serveSession(s)
		worked = worked || s.served != before
		if s.gone || s.served == s.arrived {
			s.due = false
			continue
		}
		c.due[kept] = s
		kept++
	}
	clear(c.due[kept:])
	c.due = c.due[:kept]
	return worked
}

// announce tells of requests that came together.
func (c *Core) announce() {
	n := 0
	for _, s := range c.due {
		s.told, s.known = n, 0
		if s.gone {
			continue
		}
		for at := s.served; at != s.arrived && n < len(c.batch); at++ {
			c.batch[n] = s.message(at)
			n++
		}
		s.known = n - s.told
	}
	if n > 1 {
		c.server.cfg.Expect(c.index, c.batch[:n])
		return
	}
	for _, s := range c.due { // those before it may be gone
		s.known = 0
	}
}

// serveSession serves the requests of a session for whose replies there is room.
func (c *Core) serveSession(s *session) {
	c.call.Core, c.call.Peer = c.index, s.peer
	for s.served != s.arrived {
		most := min(int(s.arrived-s.served), chain)
		for most != 0 && !s.room(most) {
			most--
		}
		if most == 0 {
			fence.Count(&c.stats.stalls, 1)
			return
		}
		for i := range most {
			c.serve(s, &c.sends[i], &c.recvs[i])
		}
		if !c.post(s, most) {
			return
		}
	}
}

// serve calls the handler for the next request of a session, and fills in the SEND of its
// reply and the receive that takes the place of its own.
func (c *Core) serve(s *session, send *fabric.WR, recv *fabric.RecvWR) {
	n := s.served
	if c.call.Announced = 0; s.known != 0 {
		s.known--
		s.told++
		c.call.Announced = s.told
	}
	c.call.After = nil
	fence.Count(&c.stats.calls, 1)
	at := s.size.sendAt(n + 1)
	place := s.mem[at : at+s.size.sendBytes() : at+s.size.sendBytes()]
	out := place[headerSize:headerSize]
	res, err := c.server.cfg.Serve(&c.call, s.message(n), out)
	if total := len(res) + len(c.call.After); err == nil && total > cap(out) {
		err = &rpc.Error{Code: rpc.CodeTooLarge, Text: fmt.Sprintf(
			"sendrecv: result of %d bytes, replies hold %d: use another path", total, cap(out))}
	}
	k := kindResult
	if err != nil {
		k, res = kindFailure, c.failure(out, err)
	} else {
		res = append(inPlace(out, res), c.call.After...)
	}
	header{uint32(n + 1), k}.put(place)
	s.prepareSend(send, at, headerSize+len(res))
	s.prepareReceive(recv, n)
	s.served++
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

// post posts the receives of n requests again, and then their replies (S1).
func (c *Core) post(s *session, n int) bool {
	_, err := s.qp.PostRecv(c.recvs[:n])
	if err == nil {
		_, err = s.qp.Post(c.sends[:n])
	}
	if err != nil {
		c.lost(s, err)
		return false
	}
	return true
}
