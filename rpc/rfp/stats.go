package rfp

import (
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
)

// sampleEvery is in how many frames the time of one is measured although no client has
// asked for it.
const sampleEvery = 256

// coreStats are counted by the core and read by any goroutine.
type coreStats struct {
	frames, pushes, unpushed, parks atomic.Uint64
}

// ServerStats are counts since the start, and current numbers.
type ServerStats struct {
	rpc.ServerStats
	Frames   uint64 `json:"frames"`
	Pushes   uint64 `json:"pushes"`   // result frames written to clients
	Unpushed uint64 `json:"unpushed"` // result frames left to be fetched because the send queue was full
	Parks    uint64 `json:"parks"`    // sessions that are not polled until their client wakes the core
	Clients  int    `json:"clients"`
	Hot      int    `json:"hot"`    // of them whose memory is being polled
	Memory   int    `json:"memory"` // bytes of rings, of areas for long messages as far as they are used, and of queued messages and results
}

// SessionStats describes one client of a core.
type SessionStats struct {
	Fabric  string `json:"fabric"`
	Peer    string `json:"peer"`
	Calls   uint64 `json:"calls"`
	Window  int    `json:"window"`
	Batch   int    `json:"batch"` // as the client says
	R       int    `json:"r"`     // likewise
	F       int    `json:"f"`
	Replies int    `json:"reply_procs"` // procedures whose results it wants pushed
	Hot     bool   `json:"hot"`         // its memory is being polled
	Memory  int    `json:"memory"`
}

// Do calls f on the goroutine of a core, between messages, and returns when f has. The server
// must not be closed.
func (s *Server) Do(core int, f func()) { s.base.Cores[core].Do(f) }

// Sessions returns clients of a core from a place on, at most so many, and the place to go on
// from, -1 at the end. It is called by the goroutine of the core, in handlers and by Do.
func (s *Server) Sessions(core, from, most int) (some []SessionStats, next int) {
	for ss, place := range s.base.Cores[core].sessions.From(from) {
		if len(some) == most {
			return some, place
		}
		some = append(some, ss.describe())
	}
	return some, -1
}

func (s *session) describe() SessionStats {
	choice := unpackChoice(fence.Observe64(fence.Word(s.reqs.Bytes(), choiceAt)))
	d := SessionStats{
		Fabric: s.port.Dev.Fabric(), Peer: s.peer.Addr, Calls: s.calls,
		Window: s.rings.window, Batch: int(s.batch), R: choice.R, F: choice.F,
		Hot: s.hotAt.In(), Memory: s.memory(),
	}
	for class := range numClasses {
		if s.mode(uint8(class)) != Fetch {
			d.Replies++
		}
	}
	return d
}

// CoreStats returns the counts of one core. It is called by the goroutine of the core, in
// handlers and by Do.
func (s *Server) CoreStats(core int) ServerStats {
	var t ServerStats
	s.base.Cores[core].count(&t)
	s.base.Cores[core].addUp(&t)
	return t
}

// Stats sums over all cores. It asks every core and waits for its answer.
func (s *Server) Stats() ServerStats {
	var t ServerStats
	for _, c := range s.base.Cores {
		c.Do(func() { c.count(&t) })
		c.addUp(&t)
	}
	return t
}

// count adds the current numbers of clients and memory. The core's goroutine calls it.
func (c *core) count(t *ServerStats) {
	for ss := range c.sessions.All() {
		t.Clients++
		t.Memory += ss.memory()
	}
	t.Hot += len(c.hot.All)
}

// addUp adds the counters of another.
func (c *core) addUp(t *ServerStats) {
	st := &c.stats
	c.AddUp(&t.ServerStats)
	t.Frames += st.frames.Load()
	t.Pushes += st.pushes.Load()
	t.Unpushed += st.unpushed.Load()
	t.Parks += st.parks.Load()
}
