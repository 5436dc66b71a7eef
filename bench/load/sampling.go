package load

import (
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// sampling is what a worker knows of the operations between those that it times (L6).
type sampling struct {
	last, ops uint64 // the end of the last one that was timed, and how many had ended then
	usual     uint64 // ticks that one takes, about the median
	shortest  uint64 // ticks of a stall, at least
	stalled   uint64 // the end of the last stall
	owed      uint64 // operations that were in flight during stalls and count already
}

const (
	// aStall is how many times as long as usual, and shortestStall how long, nothing must have
	// ended that is sure to have been in flight.
	aStall        = 4
	shortestStall = 50 * time.Microsecond
)

// Took takes the latency of an operation that began at a tick and ends now. So many of this worker
// were in flight when it last waited for results (L6); 0: all are timed.
func (m *Meter) Took(start, flight uint64) {
	now := cycles.Now()
	m.timed(start, now, flight)
	m.Look(now)
}

// timed takes an operation that was timed, for those since the last one that was not.
func (m *Meter) timed(start, now, flight uint64) {
	s := &m.sampling
	took, since, n := now-start, now-s.last, max(m.Ops-s.ops, 1)
	s.last, s.ops = now, m.Ops
	m.samples++
	if m.every == 1 || flight == 0 {
		m.count(took, n)
		return
	}
	if s.usual == 0 {
		s.usual = max(took, 1)
	}
	most := aStall*s.usual + s.shortest
	if between := n * s.usual / max(flight, 1); since > most+aStall*between {
		m.count(since-between, flight)
		s.stalled, s.owed = now, s.owed+flight
	}
	part := min(n, s.owed)
	s.owed -= part
	if took <= most || start >= s.stalled { // otherwise it was in flight during a stall, and counts already
		m.count(took, n-part)
	}
	if step := s.usual/32 + 1; took > s.usual {
		s.usual += step
	} else {
		s.usual -= min(step, s.usual-1)
	}
}

// count takes a latency in ticks for n operations.
func (m *Meter) count(ticks, n uint64) {
	if n != 0 {
		_ = m.hist.RecordValues(int64(ticks), int64(n)) // beyond the longest: not a latency
	}
}
