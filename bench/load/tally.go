package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// Tally is what all meters of a run have counted.
type Tally struct {
	Ops, Errors, Gets, Misses uint64
	Lost                      uint64 // messages, of unreliable transports
	CPU                       time.Duration
	Kinds                     Kinds // of errors, where their kind is known
	Why                       error // of one of them

	start, end uint64 // ticks: of the first to start and the last to end
	hist       *hdrhistogram.Histogram
	samples    uint64 // operations that were timed
	history    history
	rate       float64 // operations in a second, of processes that have clocks of their own; 0: see Rate
}

func (t *Tally) add(m *Meter) {
	if t.hist == nil {
		t.start, t.end, t.hist, t.history = m.start, m.end, m.hist, m.history
	} else {
		t.start, t.end = min(t.start, m.start), max(t.end, m.end)
		t.hist.Merge(m.hist)
		t.history.add(&m.history)
	}
	t.samples += m.samples
	t.Ops += m.Ops
	t.Errors += m.Errors
	t.Gets += m.Gets
	t.Misses += m.Misses
	t.Lost += m.Lost
	t.CPU += m.CPU
	t.Kinds.merge(m.kinds)
	if t.Why == nil {
		t.Why = m.why
	}
}

// Time is how long the run lasted.
func (t *Tally) Time(scale cycles.Scale) time.Duration {
	return time.Duration(scale.Nanos(t.end - t.start))
}

// Rate is operations in a second.
func (t *Tally) Rate(scale cycles.Scale) float64 {
	if t.rate != 0 {
		return Round(t.rate, 1)
	}
	if s := t.Time(scale).Seconds(); s > 0 {
		return Round(float64(t.Ops)/s, 1)
	}
	return 0
}

// Latencies are those of the operations that were timed, in microseconds.
type Latencies struct {
	Mean, P50, P95, P99, P999, Max float64
	Samples                        int64
}

// Latencies returns those of the run.
func (t *Tally) Latencies(scale cycles.Scale) Latencies {
	us := func(ticks float64) float64 { return Round(ticks*1e6/scale.PerSecond(), 4) }
	at := func(p float64) float64 { return us(float64(t.hist.ValueAtPercentile(p))) }
	return Latencies{
		Mean: us(t.hist.Mean()), P50: at(50), P95: at(95), P99: at(99), P999: at(99.9),
		Max: us(float64(t.hist.Max())), Samples: int64(t.samples),
	}
}

// TimeEvery says which share of the operations is timed, after what so many
// threads did in a first run: all where one takes a thread longer than worth, so
// that reading the clock does not count, else few. Stalls do not count: by one of them the
// rate of a case would be another in this trial than in the next.
func (t *Tally) TimeEvery(threads int, worth time.Duration, scale cycles.Scale) int {
	if t.Ops == 0 {
		return 1
	}
	worked := t.Time(scale)
	if line := t.Timeline(scale); line != nil {
		if stalls, _, ok := line.Stalls(); ok {
			worked -= time.Duration(stalls * float64(time.Millisecond))
		}
	}
	if int64(worked)*int64(threads) > int64(worth)*int64(t.Ops) {
		return 1
	}
	return SampleEvery
}
