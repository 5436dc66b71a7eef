package rfp

import (
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
)

// heat puts a session among those whose requests are looked for.
func (c *core) heat(s *session) {
	c.hot.Add(s, &s.hotAt)
	s.lastSeen = c.Sweep
}

// parkIdle parks sessions that have been silent for long (I5).
func (c *core) parkIdle() {
	c.hot.RemoveIf(func(s *session) bool {
		return c.Sweep-s.lastSeen > serving.ParkAfter && len(c.hot.All) > 1 && c.park(s) && !c.requested(s)
	})
}

// park announces in the answer slot that the session is ignored. It
// reports whether it could.
func (c *core) park(s *session) bool {
	if s.parked {
		return true
	}
	if s.slowAt.In() {
		return false
	}
	if !s.told() {
		c.cut(s, "more results taken than there were")
		return false
	}
	if !s.room() {
		return false
	}
	fence.Announce64(s.nextWord(), uint64(wire.ParkedWord0(s.produced+1)))
	s.parked = true
	c.stats.parks.Add(1)
	return true
}

// requested reports whether a request has begun to arrive. Of one that does not fit its checksum,
// a wake-up will say when it is there: a core that may sleep does not wait for it.
func (c *core) requested(s *session) bool {
	return wire.Word0(fence.Observe64(s.slots[s.slot].word)).Is(s.number) && !s.doubt.Any()
}

// nextWord is the first word of the next answer slot.
func (s *session) nextWord() *atomic.Uint64 {
	return fence.Word(s.answerMem, s.answerAt)
}

// unpark looks at a session again, and takes the announcement back: a client that
// finds it while its request is being served would think that its session is not polled. What the
// client wrote before a wake-up is there (G3).
func (c *core) unpark(s *session) {
	s.doubt.Clear()
	if s.parked {
		s.parked = false
		fence.Publish64(s.nextWord(), 0)
	}
	c.heat(s)
}

// parkAll is called before the core sleeps; a last look at all sessions follows.
func (c *core) parkAll() {
	for i := len(c.hot.All) - 1; i >= 0; i-- {
		c.park(c.hot.All[i])
	}
}

// leaveParked is called after the sleep: a client whose session is still parked will wake the core.
func (c *core) leaveParked() {
	c.hot.RemoveIf(func(s *session) bool { return s.parked && !c.requested(s) })
}
