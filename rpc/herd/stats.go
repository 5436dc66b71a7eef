package herd

import (
	"sync/atomic"

	"github.com/remora-kv/remora/rpc"
)

// coreStats are counts of a core.
type coreStats struct {
	resent, unsent, wakeups, parks, noops, replaced, cutByReplyQP atomic.Uint64
}

// ServerStats are counts since the start, and what there is now.
type ServerStats struct {
	rpc.ServerStats
	Clients          int    `json:"clients"`
	Memory           int    `json:"memory"`             // bytes for them
	Hot              int    `json:"hot"`                // chunks that are being polled
	Resent           uint64 `json:"resent"`             // replies that were sent again
	Unsent           uint64 `json:"unsent"`             // datagrams for which there was no room
	Wakeups          uint64 `json:"wakeups"`            // wake-ups and requests for replies
	Parks            uint64 `json:"parks"`              // chunks that were parked
	Noops            uint64 `json:"noops"`              // requests that no-ops moved through the pipeline
	ReplyQPsReplaced uint64 `json:"reply_qps_replaced"` // that failed
	CutByReplyQP     uint64 `json:"cut_by_reply_qp"`    // clients of a core that lost its reply QP
}

// Stats sums over all cores. It asks every core and waits for its answer.
func (s *Server) Stats() ServerStats {
	t := ServerStats{Clients: int(s.count.Load())}
	s.clients.AddUp(&t.ServerStats)
	for _, c := range s.base.Cores {
		c.Do(func() { c.count(&t) })
		c.addUp(&t)
	}
	return t
}

// CoreStats returns the counts of one core. Only a handler that runs on this core may
// call it.
func (s *Server) CoreStats(core int) ServerStats {
	var t ServerStats
	s.base.Cores[core].count(&t)
	s.base.Cores[core].addUp(&t)
	return t
}

// count adds the current numbers of clients and memory. The core's goroutine calls it.
func (c *core) count(t *ServerStats) {
	t.Hot += len(c.hot.All)
	for _, ch := range c.chunks.All {
		t.Memory += ch.session.memory() / len(ch.session.chunks)
	}
}

// addUp adds the counters of another.
func (c *core) addUp(t *ServerStats) {
	st := &c.stats
	c.AddUp(&t.ServerStats)
	t.Resent += st.resent.Load()
	t.Unsent += st.unsent.Load()
	t.Wakeups += st.wakeups.Load()
	t.Parks += st.parks.Load()
	t.Noops += st.noops.Load()
	t.ReplyQPsReplaced += st.replaced.Load()
	t.CutByReplyQP += st.cutByReplyQP.Load()
}
