package sendrecv

import "sync/atomic"

// coreStats are counts of a core.
type coreStats struct {
	calls, failures, stalls, connects, disconnects, cut, lost atomic.Uint64
}

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

func (c *Core) addUp(t *ServerStats) {
	st := &c.stats
	t.Clients += c.clients()
	t.Memory += c.memory.Load()
	t.Calls += st.calls.Load()
	t.Failures += st.failures.Load()
	t.Stalls += st.stalls.Load()
	t.Connects += st.connects.Load()
	t.Disconnects += st.disconnects.Load()
	t.Cut += st.cut.Load()
	t.Lost += st.lost.Load()
}
