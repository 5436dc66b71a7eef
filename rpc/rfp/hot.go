package rfp

// heat puts a session among those whose requests are looked for.
func (c *core) heat(s *session) {
	if s.hotAt < 0 {
		s.hotAt = len(c.hot)
		c.hot = append(c.hot, s)
	}
	s.lastSeen = c.sweep
}

// cool takes it out.
func (c *core) cool(s *session) {
	if at := s.hotAt; at >= 0 {
		last := c.hot[len(c.hot)-1]
		c.hot[at], last.hotAt = last, at
		c.hot[len(c.hot)-1] = nil
		c.hot = c.hot[:len(c.hot)-1]
		s.hotAt = -1
	}
}

// slowDown puts a session among those with something to be done later.
func (c *core) slowDown(s *session) {
	if s.slowAt < 0 {
		s.slowAt = len(c.slow)
		c.slow = append(c.slow, s)
	}
}

func (c *core) speedUp(s *session) {
	if at := s.slowAt; at >= 0 {
		last := c.slow[len(c.slow)-1]
		c.slow[at], last.slowAt = last, at
		c.slow[len(c.slow)-1] = nil
		c.slow = c.slow[:len(c.slow)-1]
		s.slowAt = -1
	}
}
