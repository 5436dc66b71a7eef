package rfp

// cut ends the session of a client that broke the protocol (I6).
func (c *core) cut(s *session, why string) {
	c.CutOff(s.qp, why)
	c.drop(s)
}

// lost ends a session because of its queue pair.
func (c *core) lost(s *session, err error) {
	c.Gone(s.qp, err)
	c.drop(s)
}

// drop forgets a session and gives everything back. A second drop does nothing.
func (c *core) drop(s *session) {
	if s.gone {
		return
	}
	s.gone = true
	c.sessions.Remove(s.id)
	c.hot.Remove(&s.hotAt)
	c.slow.Remove(&s.slowAt)
	c.spares.giveBack(s.partial)
	s.backlog, s.waiting, s.partial, s.unserved = nil, 0, nil, nil
	_ = s.qp.Close()
	c.Unreserve()
	c.Disconnects.Add(1)
	c.server.base.Reaper.Take(s)
}
