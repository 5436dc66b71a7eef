package sendrecv

// ServerStats are counts since the start, and what there is now.
type ServerStats struct {
	Clients  int    `json:"clients"`  // sessions
	Memory   int64  `json:"memory"`   // bytes for them
	Calls    uint64 `json:"calls"`    // requests served
	Failures uint64 `json:"failures"` // of them that failed
	Stalls   uint64 `json:"stalls"`   // looks at requests for whose replies there was no room

	Connects    uint64 `json:"connects"`
	Disconnects uint64 `json:"disconnects"`
	Cut         uint64 `json:"cut"`  // clients that broke the rules
	Lost        uint64 `json:"lost"` // clients that went without saying so
}

// Stats sums over all cores.
func (s *Server) Stats() ServerStats {
	var t ServerStats
	for _, c := range s.cores {
		c.addUp(&t)
	}
	return t
}

// CoreStats returns the counts of one core.
func (s *Server) CoreStats(core int) ServerStats {
	var t ServerStats
	s.cores[core].addUp(&t)
	return t
}

func (c *core) addUp(t *ServerStats) {
	t.Clients += c.Reserved()
	t.Memory += c.memory.Load()
	t.Calls += c.Calls.Load()
	t.Failures += c.Failures.Load()
	t.Stalls += c.stalls.Load()
	t.Connects += c.Connects.Load()
	t.Disconnects += c.Disconnects.Load()
	t.Cut += c.Cut.Load()
	t.Lost += c.Lost.Load()
}
