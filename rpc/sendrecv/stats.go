package sendrecv

import "github.com/remora-kv/remora/rpc"

// ServerStats are counts since the start, and what there is now.
type ServerStats struct {
	rpc.ServerStats
	Clients int    `json:"clients"` // sessions
	Memory  int64  `json:"memory"`  // bytes for them
	Stalls  uint64 `json:"stalls"`  // looks at requests for whose replies there was no room
}

// Stats sums over all cores.
func (s *Server) Stats() ServerStats {
	var t ServerStats
	for _, c := range s.base.Cores {
		c.addUp(&t)
	}
	return t
}

// CoreStats returns the counts of one core.
func (s *Server) CoreStats(core int) ServerStats {
	var t ServerStats
	s.base.Cores[core].addUp(&t)
	return t
}

func (c *core) addUp(t *ServerStats) {
	t.Clients += c.Reserved()
	t.Memory += c.memory.Load()
	t.Stalls += c.stalls.Load()
	c.AddUp(&t.ServerStats)
}
