package call

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// budget says when a run ends.
type budget struct {
	Ops   uint64 // of each lane or goroutine; 0 means by time
	Time  time.Duration
	Every int // one call in so many is timed
}

// meter counts and times the calls of one driver or goroutine in one run.
// Latencies are in ticks of the time-stamp counter.
type meter struct {
	limit      uint64 // calls of each lane
	deadline   uint64 // tick; 0: none
	every      int
	start, end uint64
	hist       *hdrhistogram.Histogram
	stop       *atomic.Bool
	random     uint64
	ops, errs  uint64
	cpu        time.Duration
}

// unlimited is a number of calls that no run reaches.
const unlimited = math.MaxUint64 / 4

// manyMeters is from how many on histograms have two digits instead of three: a
// tenth of the memory.
const manyMeters = 64

func newMeter(b budget, scale cycles.Scale, stop *atomic.Bool, index, of int) *meter {
	digits := 3
	if of > manyMeters {
		digits = 2
	}
	m := &meter{
		limit: b.Ops, every: max(b.Every, 1), stop: stop,
		hist: hdrhistogram.New(1, 1<<38, digits), random: uint64(index)*2 + 1,
	}
	m.start = cycles.Now()
	if b.Ops == 0 {
		m.limit = unlimited
		m.deadline = m.start + max(scale.Ticks(b.Time), 1)
	}
	return m
}

// over reports whether the run ends by time.
func (m *meter) over() bool { return m.deadline != 0 && cycles.Now() >= m.deadline }

// record takes one latency in ticks.
func (m *meter) record(ticks uint64) {
	_ = m.hist.RecordValue(int64(ticks)) // beyond minutes: not a latency
}

// gap is the distance to the next call that is timed: every on average, and
// random (C2).
func (m *meter) gap() uint64 {
	if m.every == 1 {
		return 1
	}
	m.random = m.random*6364136223846793005 + 1442695040888963407
	return 1 + (m.random>>33)%uint64(2*m.every-1)
}

// lookEvery is how many turns lie between two looks at the clock: a turn of a
// driver whose calls are short is short.
func (m *meter) lookEvery() int {
	if m.every == 1 {
		return 1
	}
	return 64
}

// tally is what all meters of a run have counted.
type tally struct {
	ops, errs  uint64
	start, end uint64 // ticks: of the first to start and the last to end
	cpu        time.Duration
	hist       *hdrhistogram.Histogram
}

func (t *tally) add(m *meter) {
	if t.hist == nil {
		t.start, t.end, t.hist = m.start, m.end, m.hist
	} else {
		t.start, t.end = min(t.start, m.start), max(t.end, m.end)
		t.hist.Merge(m.hist)
	}
	t.ops += m.ops
	t.errs += m.errs
	t.cpu += m.cpu
}
