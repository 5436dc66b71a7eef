package load

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/remora-kv/remora/internal/cycles"
)

// One operation in 16 is timed on average, and every place in a batch of 16 is.
func TestGaps(t *testing.T) {
	var stop atomic.Bool
	m := newMeter(Budget{Ops: 1, Every: SampleEvery}, cycles.Calibrate(), &stop, 0, 0, 1)
	const n = 100_000
	var places [SampleEvery]int
	at := uint64(0)
	for range n {
		at += m.Gap()
		places[at%SampleEvery]++
	}
	if mean := float64(at) / n; mean < 15.5 || mean > 16.5 {
		t.Errorf("one operation in %.2f is timed", mean)
	}
	for i, k := range places {
		if k < n/32 {
			t.Errorf("place %d was timed %d times of %d", i, k, n)
		}
	}
	m.every = 1
	if m.Gap() != 1 || m.LookEvery() != 1 {
		t.Error("not every operation is timed")
	}
}

// work is a worker made of a function.
type work func(ctx context.Context, m *Meter) error

func (w work) Run(ctx context.Context, m *Meter) error { return w(ctx, m) }

func TestRunAddsUp(t *testing.T) {
	one := func(_ context.Context, m *Meter) error {
		return OnThread(m, func() error {
			for m.Ops < m.Limit {
				m.Record(100)
				m.Ops++
			}
			m.Errors, m.Misses = 1, 2
			return nil
		})
	}
	scale := cycles.Calibrate()
	sum, err := Run(t.Context(), []Worker{work(one), work(one), work(one)}, Budget{Ops: 7}, scale, PinInTurn(nil))
	if err != nil || sum.Ops != 21 || sum.Errors != 3 || sum.Misses != 6 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if l := sum.Latencies(scale); l.Samples != 21 || l.P50 <= 0 || l.P999 < l.P50 || sum.Rate(scale) <= 0 || sum.Time(scale) <= 0 {
		t.Errorf("%+v, %v in %v", l, sum.Rate(scale), sum.Time(scale))
	}
	if every := sum.TimeEvery(1<<30, time.Microsecond, scale); every != 1 {
		t.Errorf("of operations of a second one in %d is timed", every)
	}
	if every := sum.TimeEvery(1, time.Hour, scale); every != SampleEvery {
		t.Errorf("of short operations one in %d is timed", every)
	}
	if every := (&Tally{}).TimeEvery(1, time.Hour, scale); every != 1 {
		t.Errorf("of unknown operations one in %d is timed", every)
	}
}

// A stall during the warm-up does not decide what is timed.
func TestTimeEveryKnowsStalls(t *testing.T) {
	scale := cycles.Calibrate()
	ms := scale.Ticks(time.Millisecond)
	m := Meter{hist: hdrhistogram.New(1, longest, 3), end: 50 * ms}
	m.history.begin(0, ms)
	for i := range uint64(2000) { // an operation in 2.5 us, and after a thousand 45 ms of nothing
		m.Ops++
		tick := i * ms / 400
		if i >= 1000 {
			tick += 45 * ms
		}
		m.Look(tick)
	}
	var sum Tally
	sum.add(&m)
	if every := sum.TimeEvery(1, 10*time.Microsecond, scale); every != SampleEvery {
		t.Errorf("one in %d is timed, of 2000 operations of 2.5 us and a stall of 45 ms", every)
	}
}

// By time a run has no limit but the clock.
func TestRunByTime(t *testing.T) {
	sum, err := Run(t.Context(), []Worker{work(func(_ context.Context, m *Meter) error {
		for m.Ops = 1; !m.Over() && m.Ops < m.Limit; { // one though it may be over before the first look
			m.Ops++
		}
		m.End()
		return nil
	})}, Budget{Time: time.Millisecond}, cycles.Calibrate(), nil)
	if err != nil || sum.Ops == 0 || sum.Time(cycles.Calibrate()) < time.Millisecond/2 {
		t.Errorf("%+v, %v", sum, err)
	}
}

// L4: who fails stops the others, who are not blamed for that.
func TestOneThatFailsStopsAll(t *testing.T) {
	broken := errors.New("broken")
	until := func(_ context.Context, m *Meter) error {
		for !m.Stopped() {
		}
		return ErrStopped
	}
	waits := func(ctx context.Context, _ *Meter) error {
		<-ctx.Done()
		return ctx.Err()
	}
	fails := func(context.Context, *Meter) error { return broken }
	_, err := Run(t.Context(), []Worker{work(until), work(waits), work(fails)}, Budget{Time: time.Hour}, cycles.Calibrate(), nil)
	if !errors.Is(err, broken) {
		t.Errorf("one that failed gave %v", err)
	}
	_, err = Run(t.Context(), []Worker{work(until)}, Budget{}, cycles.Calibrate(), func(int) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("one that could not be pinned gave %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Run(ctx, []Worker{work(until), work(func(ctx context.Context, m *Meter) error {
		cancel()
		return waits(ctx, m)
	})}, Budget{Time: time.Hour}, cycles.Calibrate(), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gave %v", err)
	}
}
