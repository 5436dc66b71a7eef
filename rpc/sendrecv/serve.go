package sendrecv

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
)

// completions takes requests, ends of SENDs and ends of queue pairs.
func (c *core) completions() bool {
	worked := false
	for _, p := range c.ports {
		if p.live == 0 {
			continue
		}
		comps := p.Take()
		for i := range comps {
			comp := &comps[i]
			s := c.sessions.Of(comp.ID)
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
func (c *core) received(s *session, comp *fabric.Completion) {
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
func (c *core) serveDue() bool {
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
func (c *core) announce() {
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
		c.server.cfg.Expect(c.Index, c.batch[:n])
		return
	}
	for _, s := range c.due { // those before it may be gone
		s.known = 0
	}
}

// serveSession serves the requests of a session for whose replies there is room.
func (c *core) serveSession(s *session) {
	c.Call.Peer = s.peer
	for s.served != s.arrived {
		most := min(int(s.arrived-s.served), chain)
		for most != 0 && !s.room(most) {
			most--
		}
		if most == 0 {
			fence.Count(&c.stalls, 1)
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
func (c *core) serve(s *session, send *fabric.WR, recv *fabric.RecvWR) {
	n := s.served
	if c.Call.Announced = 0; s.known != 0 {
		s.known--
		s.told++
		c.Call.Announced = s.told
	}
	c.Call.After = nil
	fence.Count(&c.Calls, 1)
	at := s.size.sendAt(n + 1)
	place := s.mem[at : at+s.size.sendBytes() : at+s.size.sendBytes()]
	out := place[headerSize:headerSize]
	res, err := c.server.cfg.Serve(&c.Call, s.message(n), out)
	k := kindResult
	res, failed := c.Result(out, res, err)
	if failed {
		k = kindFailure
	}
	header{uint32(n + 1), k}.put(place)
	s.prepareSend(send, at, headerSize+len(res))
	s.prepareReceive(recv, n)
	s.served++
}

// post posts the receives of n requests again, and then their replies (S1).
func (c *core) post(s *session, n int) bool {
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
