package cycles

import (
	"math"
	"runtime"
	"testing"
	"time"
)

func TestNowDoesNotFallOnOneThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	first := Now()
	for prev := first; prev-first < 1_000_000; {
		now := Now()
		if now < prev {
			t.Fatalf("%d after %d", now, prev)
		}
		prev = now
	}
}

func TestCalibrate(t *testing.T) {
	s := Calibrate()
	if hz := s.PerSecond(); hz < 1e6 || hz > 1e11 {
		t.Errorf("a counter of %g Hz is not plausible", hz)
	}
	if o := s.Overhead(); o < 0 || o > 1e6 {
		t.Errorf("a reading of %g ns is not plausible", o)
	}
	t.Logf("%.3f MHz, %.1f ns a reading", s.PerSecond()/1e6, s.Overhead())
}

func TestNanos(t *testing.T) {
	half := Scale{mult: 1 << (shift - 1)} // two ticks a nanosecond
	for delta, want := range map[uint64]int64{
		0:                 0,
		1:                 0,
		2:                 1,
		2000:              1000,
		1 << 62:           1 << 61,
		math.MaxInt64:     math.MaxInt64 / 2,
		math.MaxUint64:    0, // the second reading was one tick before the first
		1 << 63:           0,
		1<<63 | 1<<62:     0,
		math.MaxInt64 / 2: math.MaxInt64 / 4,
	} {
		if got := half.Nanos(delta); got != want {
			t.Errorf("Nanos(%d) = %d, want %d", delta, got, want)
		}
	}
	slow := Scale{mult: 40 << shift} // 25 MHz, as on some arm64
	if got := slow.Nanos(math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("an overflow gave %d, want the largest", got)
	}
	if got := slow.Nanos(25e6); got != 1e9 {
		t.Errorf("25 M ticks of 40 ns are %d ns", got)
	}
}

func TestNanosIsLinear(t *testing.T) {
	s := Calibrate()
	for _, n := range []uint64{1e3, 1e6, 1e9, 1e12} {
		one, ten := s.Nanos(n), s.Nanos(10*n)
		if d := ten - 10*one; d < -10 || d > 10 {
			t.Errorf("Nanos(%d) = %d, Nanos of ten times that %d", n, one, ten)
		}
	}
}

func TestTicksIsTheInverseOfNanos(t *testing.T) {
	for _, s := range []Scale{Calibrate(), {mult: 40 << shift}, {mult: 1 << shift}} {
		for _, d := range []time.Duration{time.Microsecond, time.Second, 24 * time.Hour} {
			ns := s.Nanos(s.Ticks(d))
			if off := time.Duration(ns) - d; off < -100 || off > 100 {
				t.Errorf("%v became %v at %.0f Hz", d, time.Duration(ns), s.PerSecond())
			}
		}
		if got := s.Ticks(-1); got != 0 {
			t.Errorf("Ticks(-1) = %d, want 0", got)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

func BenchmarkNanos(b *testing.B) {
	s := Calibrate()
	for delta := uint64(0); b.Loop(); delta++ {
		s.Nanos(delta)
	}
}
