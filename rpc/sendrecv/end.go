package sendrecv

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
)

// cut ends the session of a client that broke the rules (S8).
func (c *Core) cut(s *session, why string) {
	c.stats.cut.Add(1)
	c.server.cfg.Log.Warn("client cut off", "core", c.index, "peer", s.peer.Addr, "qp", s.qp.Num(), "reason", why)
	c.drop(s)
}

// broken ends a session whose queue pair failed. What failed first is the reason, of
// which the other requests say nothing.
func (c *Core) broken(s *session, comp *fabric.Completion) {
	err := s.qp.Err()
	if err == nil {
		err = comp.Err()
	}
	var first *fabric.CompletionError
	if errors.As(err, &first) {
		switch first.Status {
		case fabric.StatusLocalLength:
			c.cut(s, "a request longer than agreed")
			return
		case fabric.StatusRNRExceeded:
			c.cut(s, "no receive for a reply")
			return
		default:
		}
	}
	c.lost(s, err)
}

// lost ends a session because of its queue pair.
func (c *Core) lost(s *session, err error) {
	if errors.Is(err, fabric.ErrDisconnected) {
		c.server.cfg.Log.Debug("client left", "core", c.index, "peer", s.peer.Addr)
	} else {
		c.stats.lost.Add(1)
		c.server.cfg.Log.Warn("client lost", "core", c.index, "peer", s.peer.Addr, "err", err)
	}
	c.drop(s)
}

// drop forgets a session and gives everything back (S10).
func (c *Core) drop(s *session) {
	c.sessions[s.tag], s.gone = nil, true
	c.live--
	s.port.live--
	_ = s.qp.Close()
	c.unreserve()
	c.stats.disconnects.Add(1)
	c.server.reaper.Take(s)
}
