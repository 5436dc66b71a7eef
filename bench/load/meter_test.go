package load

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

func TestMeterRunsExactlySoManyOperations(t *testing.T) {
	for _, every := range []int{1, 3, 16} {
		var stop atomic.Bool
		m := newMeter(Budget{Ops: 100, Every: every}, cycles.Calibrate(), &stop, cycles.Now(), 0, 1)
		ones, rest := 0, 0
		err := m.Each(func() error { ones++; return nil }, func(n int) error { rest += n; return nil })
		if err != nil || ones+rest != 100 || m.Ops != 100 {
			t.Errorf("every %d: %d + %d operations, %d counted, %v", every, ones, rest, m.Ops, err)
		}
		if got := m.samples; got != uint64(ones) {
			t.Errorf("every %d: %d of %d timed operations recorded", every, got, ones)
		}
	}
}

// L3: operations that are timed lie at random distances, which are as long as asked for in the
// mean.
func TestMeterTimesAtRandomDistances(t *testing.T) {
	var stop atomic.Bool
	const ops, every = 16_000, 16
	m := newMeter(Budget{Ops: ops, Every: every}, cycles.Calibrate(), &stop, cycles.Now(), 0, 1)
	ones, distances := 0, map[int]bool{}
	err := m.Each(func() error { ones++; return nil }, func(n int) error { distances[n+1] = true; return nil })
	if err != nil || len(distances) < 2*every-2 || ones < ops/every*9/10 || ones > ops/every*11/10 {
		t.Errorf("%d of %d operations were timed, at %d distances: %v", ones, ops, len(distances), err)
	}
}

func TestMeterEndsByTimeByCommandAndByError(t *testing.T) {
	scale := cycles.Calibrate()
	nothing := func() error { return nil }
	var stop atomic.Bool
	m := newMeter(Budget{Time: time.Nanosecond, Every: 1}, scale, &stop, cycles.Now(), 0, 1)
	if err := m.Each(nothing, func(int) error { return nil }); err != nil || m.Ops != 1 {
		t.Errorf("a budget of a nanosecond ran %d operations, %v", m.Ops, err)
	}
	stop.Store(true)
	m = newMeter(Budget{Ops: 100, Every: 1}, scale, &stop, cycles.Now(), 0, 1)
	if err := m.Each(nothing, func(int) error { return nil }); err != nil || m.Ops != 1 {
		t.Errorf("a stopped run ran %d operations, %v", m.Ops, err)
	}
	stop.Store(false)
	broken := errors.New("broken")
	m = newMeter(Budget{Ops: 100, Every: 1}, scale, &stop, cycles.Now(), 0, 1)
	if err := m.Each(func() error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("the error of an operation became %v", err)
	}
}
