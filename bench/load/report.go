package load

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// Report is a tally on its way to another process, maybe of another machine, whose counter
// runs at another rate. Nothing in it depends on when it was: clocks of machines are not
// compared.
type Report struct {
	Ops, Errors, Gets, Misses uint64
	Lost                      uint64 `json:",omitempty"`
	CPU                       time.Duration
	Kinds                     Kinds  `json:",omitempty"`
	Why                       string `json:",omitempty"`
	// Ticks is how long the run was, and PerSecond how many there are.
	Ticks     uint64
	PerSecond float64
	// Latencies are pairs of a latency in ticks and how many there were, all that the
	// histogram of so many Digits has.
	Latencies []int64
	Digits    int64
	// Samples is how many operations were timed.
	Samples uint64
	// Intervals are how many operations ended in each, which is so long.
	Intervals   []uint64 `json:",omitempty"`
	EveryMillis float64
}

// Report makes that of a tally.
func (t *Tally) Report(scale cycles.Scale) *Report {
	r := &Report{
		Ops: t.Ops, Errors: t.Errors, Gets: t.Gets, Misses: t.Misses, Lost: t.Lost, CPU: t.CPU, Kinds: t.Kinds,
		Samples: t.samples, Ticks: t.end - t.start, PerSecond: scale.PerSecond(), Digits: t.hist.SignificantFigures(),
		EveryMillis: float64(t.history.every) / scale.PerSecond() * 1e3, Intervals: t.history.ops[:min(t.history.now+1, mostIntervals)],
	}
	for _, bar := range t.hist.Distribution() {
		if bar.Count != 0 {
			r.Latencies = append(r.Latencies, bar.From, bar.Count)
		}
	}
	if t.Why != nil {
		r.Why = t.Why.Error()
	}
	return r
}

// ErrReport is wrapped when a report is malformed.
var ErrReport = errors.New("malformed report")

// Bounds of what another process may say.
const (
	slowestCounter = 1e5
	fastestCounter = 1e12
	longestRun     = 1 << 60 // ticks
)

// check refuses what no run gives.
func (r *Report) check() error {
	switch {
	case !(r.PerSecond >= slowestCounter && r.PerSecond <= fastestCounter):
		return fmt.Errorf("%w: %g ticks a second", ErrReport, r.PerSecond)
	case r.Ticks == 0 || r.Ticks > longestRun:
		return fmt.Errorf("%w: a run of %d ticks", ErrReport, r.Ticks)
	case r.Ops > unlimited || r.Errors > r.Ops || r.Samples > r.Ops || r.Gets > r.Ops || r.Misses > r.Gets || r.CPU < 0:
		return fmt.Errorf("%w: %d operations, %d gets, %d errors, %d misses in %v", ErrReport, r.Ops, r.Gets, r.Errors, r.Misses, r.CPU)
	case len(r.Latencies)%2 != 0 || r.Digits < 1 || r.Digits > 5:
		return fmt.Errorf("%w: %d latencies of %d digits", ErrReport, len(r.Latencies), r.Digits)
	case len(r.Intervals) > mostIntervals || !(r.EveryMillis > 0 && r.EveryMillis < math.MaxInt32):
		return fmt.Errorf("%w: %d intervals of %g ms", ErrReport, len(r.Intervals), r.EveryMillis)
	}
	left := 2 * r.Ops // those in flight during a stall may count beside those since (L6)
	for i := 0; i < len(r.Latencies); i += 2 {
		value, count := r.Latencies[i], r.Latencies[i+1]
		if value < 0 || value > longest || count < 1 || uint64(count) > left {
			return fmt.Errorf("%w: %d times a latency of %d ticks in %d operations", ErrReport, count, value, r.Ops)
		}
		left -= uint64(count)
	}
	return nil
}

// Merge adds the reports of processes, in ticks of this machine. Their histograms are added
// and not their percentiles averaged. Where all worked during the time of each (together),
// the rate is the sum of theirs, each over its own time by its own clock; otherwise it is
// that of all operations in the time of the longest.
func Merge(reports []*Report, together bool, scale cycles.Scale) (sum Tally, err error) {
	for _, r := range reports {
		if err := r.check(); err != nil {
			return Tally{}, err
		}
		sum.end = max(sum.end, r.ticks(r.Ticks, scale))
	}
	for _, r := range reports {
		sum.merge(r, together, scale)
	}
	return sum, nil
}

// near is by which part two counters may differ and be taken for equal: calibration is not
// better than that, and a histogram of three digits coarser.
const near = 1e-4

// ticks turns those of a report into those of this machine.
func (r *Report) ticks(n uint64, scale cycles.Scale) uint64 {
	ratio := scale.PerSecond() / r.PerSecond
	if math.Abs(ratio-1) < near {
		return n
	}
	return uint64(math.Round(float64(n) * ratio))
}

func (t *Tally) merge(r *Report, together bool, scale cycles.Scale) {
	if t.hist == nil {
		t.hist = hdrhistogram.New(1, longest, int(r.Digits))
		t.history.begin(0, max(uint64(math.Round(r.EveryMillis/1e3*scale.PerSecond())), 1))
	}
	for i := 0; i < len(r.Latencies); i += 2 {
		v := min(int64(r.ticks(uint64(r.Latencies[i]), scale)), longest)
		_ = t.hist.RecordValues(v, r.Latencies[i+1]) // it is within the bounds
	}
	t.history.merge(r, scale)
	t.samples += r.Samples
	t.Ops += r.Ops
	t.Errors += r.Errors
	t.Gets += r.Gets
	t.Misses += r.Misses
	t.Lost += r.Lost
	t.Kinds.merge(r.Kinds)
	if t.Why == nil && r.Why != "" {
		t.Why = errors.New(r.Why)
	}
	if together {
		seconds := float64(r.Ticks) / r.PerSecond
		t.rate += float64(r.Ops) / seconds
		// Shares of CPUs add up, and so do times once all are of the same interval.
		t.CPU += time.Duration(float64(r.CPU) * t.Time(scale).Seconds() / seconds)
	} else {
		t.CPU += r.CPU
	}
}

// merge adds the intervals of a report. Their lengths are the same but for the rounding of
// two counters, and for how often two became one.
func (h *history) merge(r *Report, scale cycles.Scale) {
	var o history
	o.begin(0, h.every)
	copy(o.ops[:], r.Intervals)
	ours := float64(h.every) / scale.PerSecond() * 1e3
	for twice := math.Round(math.Log2(r.EveryMillis / ours)); twice != 0; {
		if twice > 0 {
			h.halve()
			o.every = h.every
			twice--
		} else {
			o.halve()
			twice++
		}
	}
	o.every = h.every
	for i, n := range o.ops {
		h.ops[i] += n
	}
}
