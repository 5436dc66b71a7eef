package rfp

import "sync/atomic"

// sampleEvery: the time of one frame in so many is measured though nobody has
// asked for it.
const sampleEvery = 256

// coreStats are counted by the core and read by anybody.
type coreStats struct {
	frames, calls, failures atomic.Uint64
	pushes, unpushed, parks atomic.Uint64
	connects, disconnects   atomic.Uint64
	cut, lost               atomic.Uint64
}

// ServerStats are counts since the start, and what is now.
type ServerStats struct {
	Frames, Calls, Failures uint64
	Pushes                  uint64 // result frames written to clients
	Unpushed                uint64 // result frames left to be fetched because the send queue was full
	Parks                   uint64 // sessions set aside until they ring
	Connects, Disconnects   uint64
	Cut                     uint64 // clients that broke the protocol
	Lost                    uint64 // clients that vanished
	Clients                 int
	Hot                     int // of them whose memory is being polled
	Memory                  int // bytes of their rings, and of messages and results that wait
}

// Stats sums over all cores. It asks every core and waits for its answer.
func (s *Server) Stats() ServerStats {
	var t ServerStats
	for _, c := range s.cores {
		c.do(func() {
			for _, ss := range c.sessions {
				if ss != nil {
					t.Clients++
					t.Memory += ss.memory()
				}
			}
			t.Hot += len(c.hot)
		})
		st := &c.stats
		t.Frames += st.frames.Load()
		t.Calls += st.calls.Load()
		t.Failures += st.failures.Load()
		t.Pushes += st.pushes.Load()
		t.Unpushed += st.unpushed.Load()
		t.Parks += st.parks.Load()
		t.Connects += st.connects.Load()
		t.Disconnects += st.disconnects.Load()
		t.Cut += st.cut.Load()
		t.Lost += st.lost.Load()
	}
	return t
}
