package rfp

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
)

// cut ends the session of a client that broke the protocol (I6).
func (c *core) cut(s *session, why string) {
	c.stats.cut.Add(1)
	c.server.cfg.Log.Warn("client cut off", "core", c.index, "peer", s.peer.Addr, "qp", s.qp.Num(), "reason", why)
	c.drop(s)
}

// broken ends a session whose queue pair failed.
func (c *core) broken(s *session, comp *fabric.Completion) {
	err := s.qp.Err()
	if err == nil {
		err = comp.Err()
	}
	c.end(s, err)
}

// end ends a session because of its queue pair.
func (c *core) end(s *session, err error) {
	if errors.Is(err, fabric.ErrDisconnected) {
		c.server.cfg.Log.Debug("client left", "core", c.index, "peer", s.peer.Addr)
	} else {
		c.stats.lost.Add(1)
		c.server.cfg.Log.Warn("client lost", "core", c.index, "peer", s.peer.Addr, "err", err)
	}
	c.drop(s)
}

// drop forgets a session and gives everything back. A second drop does nothing.
func (c *core) drop(s *session) {
	if s.tag >= len(c.sessions) || c.sessions[s.tag] != s {
		return
	}
	c.sessions[s.tag], s.gone = nil, true
	c.cool(s)
	c.speedUp(s)
	c.spares.giveBack(s.partial)
	s.backlog, s.waiting, s.partial, s.unserved = nil, 0, nil, nil
	_ = s.qp.Close()
	c.unreserve()
	c.stats.disconnects.Add(1)
	c.server.reaper.Take(s)
}
