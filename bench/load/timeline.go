package load

import (
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// Timeline is how many operations ended in each interval of a run.
type Timeline struct {
	// EveryMillis is the length of an interval.
	EveryMillis float64 `json:"every_ms"`
	// Ops has the intervals in turn; one that the run has not filled is left out.
	Ops []uint64 `json:"ops"`
}

// Stalls returns how long nothing ended in all, and at a stretch, in milliseconds: intervals
// without operations that others follow. ok is false where operations are so rare that this says
// nothing.
func (t *Timeline) Stalls() (sum, longest float64, ok bool) {
	const usual = 20 // operations in an interval, in the mean
	ended, gap := uint64(0), 0.0
	for _, n := range t.Ops {
		if ended += n; n == 0 {
			gap += t.EveryMillis
			continue
		}
		sum, longest, gap = sum+gap, max(longest, gap), 0
	}
	return Round(sum, 3), Round(longest, 3), ended >= usual*uint64(len(t.Ops))
}

const (
	// intervals is in how many a run by time is divided, and mostIntervals how many
	// there are at most: of a run that needs more, two become one.
	intervals     = 100
	mostIntervals = 128
	// shortestInterval is what the looks of workers can tell apart, and what runs
	// whose length nobody knows begin with.
	shortestInterval = time.Millisecond
)

// interval is how long the first intervals of a run are, in ticks.
func (b *Budget) interval(scale cycles.Scale) uint64 {
	every := shortestInterval
	if b.Ops == 0 {
		every = max(every, b.Time/intervals)
	}
	return max(scale.Ticks(every), 1)
}

// history counts the operations of one worker by interval (L5).
type history struct {
	origin, every uint64 // ticks: of the run's beginning, and of an interval
	ops           [mostIntervals]uint64
	now           int    // the interval of the last look
	end           uint64 // tick at which that ends

	// The last look at which operations had ended, and how many ticks lie between two of
	// them, in the mean of the last 32 or so, times 32.
	tick, seen uint64
	usual32    uint64
}

func (h *history) begin(origin, every uint64) {
	*h = history{origin: origin, every: every, end: origin + every, tick: origin}
}

// look takes how many operations there are by a tick. What ended since the last look is
// divided between the intervals of both looks.
func (h *history) look(tick, ops uint64) {
	if ops == h.seen {
		return
	}
	if tick < h.end {
		h.ops[h.now] += ops - h.seen
	} else {
		h.cross(tick, ops-h.seen)
	}
	if between := tick - h.tick; h.seen == 0 {
		h.usual32 = 32 * between
	} else {
		h.usual32 += between - h.usual32/32
	}
	h.tick, h.seen = tick, ops
}

// cross spreads operations over the intervals from that of the last look on. A worker that has
// not looked for longer than an interval, and for far longer than usual, stood still (L5): they
// are of the interval in which they were seen, and the others are a gap.
func (h *history) cross(tick, ops uint64) {
	if between := tick - h.tick; between > h.every && between > aStall*h.usual32/32 && h.seen != 0 {
		h.reach(tick)
		h.ops[h.now] += ops
		return
	}
	from, left := h.tick, ops
	for tick >= h.end {
		part := uint64(float64(ops) * float64(h.end-from) / float64(tick-h.tick))
		part = min(part, left)
		h.ops[h.now] += part
		left -= part
		from = h.end
		h.next()
	}
	h.ops[h.now] += left
}

// reach goes on to the interval of a tick.
func (h *history) reach(tick uint64) {
	for tick >= h.end {
		h.next()
	}
}

// next goes on to the next interval.
func (h *history) next() {
	if h.now++; h.now == mostIntervals {
		h.halve()
	}
	h.end = h.origin + uint64(h.now+1)*h.every
}

// halve makes one interval of two.
func (h *history) halve() {
	for i := range mostIntervals / 2 {
		h.ops[i] = h.ops[2*i] + h.ops[2*i+1]
	}
	clear(h.ops[mostIntervals/2:])
	h.every *= 2
	h.now = mostIntervals / 2
}

// add adds the history of another worker of the same run.
func (h *history) add(o *history) {
	for h.every < o.every {
		h.halve()
	}
	for o.every < h.every {
		o.halve()
	}
	for i, n := range o.ops {
		h.ops[i] += n
	}
}

// Timeline returns that of the run; nil where it was shorter than two intervals.
func (t *Tally) Timeline(scale cycles.Scale) *Timeline {
	full := min((t.end-t.history.origin)/t.history.every, mostIntervals)
	if full < 2 {
		return nil
	}
	every := float64(scale.Nanos(t.history.every)) / 1e6
	return &Timeline{EveryMillis: Round(every, 3), Ops: t.history.ops[:full]}
}
