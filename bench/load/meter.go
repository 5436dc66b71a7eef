package load

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// Budget says when a run ends.
type Budget struct {
	Ops   uint64 // of each worker or connection; 0 means by time
	Time  time.Duration
	Every int // one operation in so many is timed
	// Until, when not nil, ends a run by time before that, with what was done until then.
	Until *atomic.Bool `json:"-"`
}

// Meter counts and times the operations of one worker in one run. It belongs to
// that worker.
type Meter struct {
	// Limit is how many operations the worker, or each of its connections, does at
	// most.
	Limit uint64
	// Ops are those that it has done, of which Errors failed. Gets of a cache are
	// counted too where there are any, and of these Misses found nothing.
	Ops, Errors, Gets, Misses uint64
	// Lost counts messages that an unreliable transport lost.
	Lost uint64
	// CPU is what its thread has used.
	CPU time.Duration

	why   error
	kinds Kinds

	start, end uint64 // ticks
	deadline   uint64 // tick; 0: none
	every      int
	hist       *hdrhistogram.Histogram
	stop       *atomic.Bool
	until      *atomic.Bool // nil: nobody tells it to end
	random     uint64
	history    history
	sampling   sampling
	samples    uint64 // operations that were timed
}

// unlimited is a number of operations that no run reaches.
const unlimited = math.MaxUint64 / 4

// manyMeters is from how many on histograms have two digits instead of three: a
// tenth of the memory.
const manyMeters = 64

// longest is the longest latency in ticks: a minute and more.
const longest = 1 << 38

// newMeter makes the meter of worker index of so many, whose run begins now. All of
// a run have the same origin, a tick before the first of them begins.
func newMeter(b Budget, scale cycles.Scale, stop *atomic.Bool, origin uint64, index, of int) *Meter {
	digits := 3
	if of > manyMeters {
		digits = 2
	}
	m := &Meter{
		Limit: b.Ops, every: max(b.Every, 1), stop: stop, until: b.Until,
		hist: hdrhistogram.New(1, longest, digits), random: uint64(index)*2 + 1,
	}
	m.history.begin(origin, b.interval(scale))
	m.start = cycles.Now()
	m.sampling.last, m.sampling.shortest = m.start, scale.Ticks(shortestStall)
	if b.Ops == 0 {
		m.Limit = unlimited
		m.deadline = m.start + max(scale.Ticks(b.Time), 1)
	}
	return m
}

// Over is a worker's look at the clock: it reports whether the run ends by time.
func (m *Meter) Over() bool { return m.OverAt(cycles.Now()) }

// OverAt is Over for a worker that has just read the clock, and true of a run that was stopped.
func (m *Meter) OverAt(now uint64) bool {
	m.Look(now)
	return m.deadline != 0 && now >= m.deadline || m.Ended()
}

// Ended reports whether the run was told to end or stopped.
func (m *Meter) Ended() bool { return m.Told() || m.Stopped() }

// Each runs operations one at a time until the budget is used up: those that are timed by one,
// the others between them by many. The indirect calls are made once for each batch.
func (m *Meter) Each(one func() error, many func(n int) error) error {
	for m.Ops < m.Limit {
		before := cycles.Now()
		if err := one(); err != nil {
			return err
		}
		after := cycles.Now()
		m.timed(before, after, 1)
		m.Ops++
		if m.OverAt(after) {
			break
		}
		rest := min(m.Gap()-1, m.Limit-m.Ops)
		if err := many(int(rest)); err != nil {
			return err
		}
		m.Ops += rest
	}
	return nil
}

// Told reports whether the run was told to end: what is on its way is still waited for.
func (m *Meter) Told() bool { return m.until != nil && m.until.Load() }

// Look notes how far the worker is at a tick (L5).
func (m *Meter) Look(tick uint64) { m.history.look(tick, m.Ops) }

// Ticks is how long the run lasts by its budget; 0: it has a number of operations.
func (m *Meter) Ticks() uint64 {
	if m.deadline == 0 {
		return 0
	}
	return m.deadline - m.start
}

// Stopped reports whether the run is to end at once.
func (m *Meter) Stopped() bool { return m.stop.Load() }

// End notes that the worker is done.
func (m *Meter) End() {
	m.end = cycles.Now()
	m.Look(m.end)
}

// Why keeps the first of errors, to be told.
func (m *Meter) Why(err error) {
	if m.why == nil {
		m.why = err
	}
}

// Refused counts an operation that failed, and keeps the first of errors like Why.
func (m *Meter) Refused(kind string, err error) {
	m.Errors++
	m.kinds.add(kind, 1)
	m.Why(err)
}

// Record takes one latency in ticks.
func (m *Meter) Record(ticks uint64) {
	m.samples++
	m.count(ticks, 1)
}

// SampleEvery is one operation in how many is timed where not all are.
const SampleEvery = 16

// Gap is the distance to the next operation that is timed: the budget's Every on
// average, and random (L3).
func (m *Meter) Gap() uint64 {
	if m.every == 1 {
		return 1
	}
	m.random = m.random*6364136223846793005 + 1442695040888963407
	return 1 + (m.random>>33)%uint64(2*m.every-1)
}

// LookEvery is how many turns lie between two looks at the clock: a turn of a
// worker whose operations are short is short.
func (m *Meter) LookEvery() int {
	if m.every == 1 {
		return 1
	}
	return 64
}
