package perf

import (
	"encoding/base64"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// Budget says when a run ends.
type budget struct {
	// Ops of each thread; 0 means by time.
	Ops uint64
	// Time is how long, when Ops is 0.
	Time time.Duration
	// Every: one operation in so many is timed.
	Every int
}

// meter counts and times the operations of one thread in one run. Latencies
// are kept in ticks of the time-stamp counter.
type meter struct {
	limit      uint64 // operations allowed
	deadline   uint64 // tick; 0: none
	every      int
	start, end uint64
	hist       *hdrhistogram.Histogram
	stop       *atomic.Bool
	ops, lost  uint64
}

// unlimited is a number of operations that no run reaches.
const unlimited = math.MaxUint64 / 4

// histogram geometry: a tick to some minutes, three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 1<<40, 3) }

func newMeter(b budget, scale cycles.Scale, stop *atomic.Bool) *meter {
	m := &meter{limit: b.Ops, every: max(b.Every, 1), hist: newHistogram(), stop: stop}
	m.start = cycles.Now()
	if b.Ops == 0 {
		m.limit = unlimited
		if b.Time > 0 {
			m.deadline = m.start + max(scale.Ticks(b.Time), 1)
		}
	}
	return m
}

// over reports whether the run ends by time or by command.
func (m *meter) over(now uint64) bool {
	return (m.deadline != 0 && now >= m.deadline) || m.stop.Load()
}

// record takes one latency in ticks.
func (m *meter) record(ticks uint64) {
	_ = m.hist.RecordValue(int64(ticks)) // beyond minutes: not a latency
}

// each runs operations one at a time: every m.every-th by one, which is timed,
// the others by many. The indirect calls are made once for each batch.
func (m *meter) each(one func() error, many func(n int) error) error {
	for m.ops < m.limit {
		before := cycles.Now()
		if err := one(); err != nil {
			return err
		}
		after := cycles.Now()
		m.record(after - before)
		m.ops++
		if m.over(after) {
			break
		}
		rest := min(uint64(m.every-1), m.limit-m.ops)
		if err := many(int(rest)); err != nil {
			return err
		}
		m.ops += rest
	}
	return nil
}

// tally is what one or more threads have done.
type tally struct {
	Ops, Lost  uint64
	Start, End uint64 // ticks: of the first to start and the last to end
	Hist       *hdrhistogram.Histogram
	Sleeps     uint64
}

func (m *meter) tally() tally {
	return tally{Ops: m.ops, Lost: m.lost, Start: m.start, End: m.end, Hist: m.hist}
}

// add merges what another thread of the same process has done.
func (t *tally) add(o tally) {
	if t.Hist == nil {
		*t = o
		return
	}
	t.Ops += o.Ops
	t.Lost += o.Lost
	t.Start, t.End = min(t.Start, o.Start), max(t.End, o.End)
	t.Sleeps += o.Sleeps
	t.Hist.Merge(o.Hist)
}

// wireTally is a tally between processes, in nanoseconds.
type wireTally struct {
	Ops, Lost, Sleeps uint64
	Seconds           float64
	NanosPerTick      float64
	Hist              string // base64 of the histogram's own encoding
}

func (t *tally) wire(scale cycles.Scale) (*wireTally, error) {
	w := &wireTally{
		Ops: t.Ops, Lost: t.Lost, Sleeps: t.Sleeps,
		Seconds:      float64(scale.Nanos(t.End-t.Start)) / 1e9,
		NanosPerTick: 1e9 / scale.PerSecond(),
	}
	if t.Hist != nil {
		b, err := t.Hist.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("encoding the histogram: %w", err)
		}
		w.Hist = base64.StdEncoding.EncodeToString(b)
	}
	return w, nil
}

// result is a tally in units that people use.
type result struct {
	ops, lost           uint64
	seconds             float64
	p50, p99, p999, avg float64 // microseconds
	samples             int64
}

func (w *wireTally) result() (result, error) {
	r := result{ops: w.Ops, lost: w.Lost, seconds: w.Seconds}
	if w.Hist == "" {
		return r, nil
	}
	b, err := base64.StdEncoding.DecodeString(w.Hist)
	if err != nil {
		return r, fmt.Errorf("decoding the histogram: %w", err)
	}
	h, err := hdrhistogram.Decode(b)
	if err != nil {
		return r, fmt.Errorf("decoding the histogram: %w", err)
	}
	us := func(ticks float64) float64 { return ticks * w.NanosPerTick / 1000 }
	at := func(p float64) float64 { return us(float64(h.ValueAtPercentile(p))) }
	r.p50, r.p99, r.p999, r.avg = at(50), at(99), at(99.9), us(h.Mean())
	r.samples = h.TotalCount()
	return r, nil
}
