package perf

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

func TestMeterRunsExactlySoManyOperations(t *testing.T) {
	for _, every := range []int{1, 3, 16} {
		var stop atomic.Bool
		m := newMeter(budget{Ops: 100, Every: every}, cycles.Calibrate(), &stop)
		ones, rest := 0, 0
		err := m.each(func() error { ones++; return nil }, func(n int) error { rest += n; return nil })
		if err != nil || ones+rest != 100 || m.ops != 100 {
			t.Errorf("every %d: %d + %d operations, %d counted, %v", every, ones, rest, m.ops, err)
		}
		if got := m.hist.TotalCount(); got != int64(ones) {
			t.Errorf("every %d: %d of %d timed operations recorded", every, got, ones)
		}
	}
}

func TestMeterEndsByTimeByCommandAndByError(t *testing.T) {
	scale := cycles.Calibrate()
	nothing := func() error { return nil }
	var stop atomic.Bool
	m := newMeter(budget{Time: time.Nanosecond, Every: 1}, scale, &stop)
	if err := m.each(nothing, func(int) error { return nil }); err != nil || m.ops != 1 {
		t.Errorf("a budget of a nanosecond ran %d operations, %v", m.ops, err)
	}
	stop.Store(true)
	m = newMeter(budget{Ops: 100, Every: 1}, scale, &stop)
	if err := m.each(nothing, func(int) error { return nil }); err != nil || m.ops != 1 {
		t.Errorf("a stopped run ran %d operations, %v", m.ops, err)
	}
	stop.Store(false)
	broken := errors.New("broken")
	m = newMeter(budget{Ops: 100, Every: 1}, scale, &stop)
	if err := m.each(func() error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("the error of an operation became %v", err)
	}
}

func TestTallySurvivesTheWire(t *testing.T) {
	scale := cycles.Calibrate()
	second := scale.Ticks(time.Second)
	var stop atomic.Bool
	m := newMeter(budget{Ops: 1, Every: 1}, scale, &stop)
	m.start, m.end, m.ops, m.lost = 0, 2*second, 1000, 3
	for i := 1; i <= 1000; i++ {
		m.record(scale.Ticks(time.Duration(i) * time.Microsecond))
	}
	sum := m.tally()
	sum.add(m.tally())
	w, err := sum.wire(scale)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.result()
	if err != nil {
		t.Fatal(err)
	}
	if r.ops != 2000 || r.lost != 6 || r.samples != 2000 || math.Abs(r.seconds-2) > 0.001 {
		t.Errorf("two threads became %+v", r)
	}
	for _, q := range []struct{ got, want float64 }{{r.p50, 500}, {r.p99, 990}, {r.p999, 999}, {r.avg, 500.5}} {
		if math.Abs(q.got-q.want) > q.want*0.002 {
			t.Errorf("percentile %.1f us, want %.1f", q.got, q.want)
		}
	}
}

func TestBrokenHistogramIsAnError(t *testing.T) {
	for _, s := range []string{"%", "AAAA"} {
		if _, err := (&wireTally{Hist: s}).result(); err == nil {
			t.Errorf("histogram %q was taken", s)
		}
	}
}
