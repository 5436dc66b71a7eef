package load

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// world is a closed loop with a clock of its own: operations end in turn, one a step, except in
// stalls.
type world struct {
	flight  uint64
	step    uint64                         // ticks between two ends
	burst   uint64                         // as many end at once
	stall   func(op uint64) (ticks uint64) // before the end of an operation
	naive   *hdrhistogram.Histogram        // what one in 16 says without L6
	meter   *Meter
	elapsed uint64
}

// run does n operations, and times one in 16.
func (w *world) run(n uint64) {
	scale := cycles.Calibrate()
	var stop atomic.Bool
	m := newMeter(Budget{Ops: n, Every: SampleEvery}, scale, &stop, 0, 0, 1)
	m.sampling.last, w.meter, w.naive = 0, m, hdrhistogram.New(1, longest, 3)
	began := make([]uint64, n+w.flight) // of operations; 0: not timed
	now, next := uint64(1), uint64(0)
	send := func(op uint64) {
		if op == next && op < n {
			began[op], next = now, next+m.Gap()
		}
	}
	for op := range w.flight {
		send(op)
	}
	for op := range n {
		if op%w.burst == 0 {
			now += w.step*w.burst + w.stall(op)
		}
		if began[op] != 0 {
			_ = w.naive.RecordValue(int64(now - began[op]))
			m.timed(began[op], now, w.flight)
		}
		m.Ops++
		send(op + w.flight)
	}
	w.elapsed = now
}

// share is mean x rate, by the operations in flight.
func (w *world) share(h *hdrhistogram.Histogram) float64 {
	return h.Mean() * float64(w.meter.Ops) / float64(w.elapsed) / float64(w.flight)
}

// L6: stalls of which a trial has a few are in the latencies with the weight that they have, where
// one operation in 16 is timed: mean x rate is what is in flight, and their share is right.
func TestSamplesKnowOfStalls(t *testing.T) {
	ms := func(n float64) uint64 { return uint64(n * 1e6) } // a tick is a nanosecond here
	for _, tc := range []struct {
		name                string
		flight, step, burst uint64
		every, long         uint64 // one stall of length long per every operations
	}{
		{"one in flight", 1, 500, 1, 50_000, ms(20)},
		{"sixteen in flight", 16, 200, 1, 100_000, ms(30)},
		{"batches", 16, 200, 4, 30_000, ms(2)},
		{"bursts of the whole window", 16, 5_000, 16, 1 << 40, 0},
		{"a hundred in flight", 100, 100, 1, 200_000, ms(10)},
		{"no stalls", 16, 200, 1, 1 << 40, 0},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		stalls := 0
		w := world{flight: tc.flight, step: tc.step, burst: tc.burst, stall: func(uint64) uint64 {
			if rng.Uint64N(tc.every/tc.burst) == 0 {
				stalls++
				return tc.long
			}
			return 0
		}}
		w.run(1_000_000)
		if share := w.share(w.meter.hist); math.Abs(share-1) > 0.05 {
			t.Errorf("%s: mean x rate is %.2f of what is in flight, without L6 %.2f", tc.name, share, w.share(w.naive))
		}
		if n := w.meter.hist.TotalCount(); n < 950_000 || n > 1_050_000 {
			t.Errorf("%s: %d of a million operations are counted", tc.name, n)
		}
		slow := int64(0)
		for _, bar := range w.meter.hist.Distribution() {
			if tc.long != 0 && bar.From > int64(tc.long)*9/10 {
				slow += bar.Count
			}
		}
		if want := float64(stalls) * float64(tc.flight); math.Abs(float64(slow)-want) > 0.1*want {
			t.Errorf("%s: %d operations were as slow as %d stalls, want %.0f", tc.name, slow, stalls, want)
		}
		if s := w.meter.samples; s < 55_000 || s > 70_000 {
			t.Errorf("%s: %d samples", tc.name, s)
		}
	}
}

// Where all are timed each counts once, and none is guessed.
func TestAllTimedCountOnce(t *testing.T) {
	var stop atomic.Bool
	m := newMeter(Budget{Ops: 3, Every: 1}, cycles.Calibrate(), &stop, 0, 0, 1)
	for i, took := range []uint64{100, 1 << 30, 100} {
		now := uint64(i+1) << 31
		m.timed(now-took, now, 16)
		m.Ops++
	}
	if n, longest := m.hist.TotalCount(), m.hist.Max(); n != 3 || longest < 1<<30 || m.samples != 3 {
		t.Errorf("%d operations, %d samples, the longest %d", n, m.samples, longest)
	}
}
