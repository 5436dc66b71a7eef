package host

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// Clock is what there is to know about the time-stamp counter.
type Clock struct {
	Step  float64 // nanoseconds between two readings that differ, at least
	Cost  float64 // nanoseconds of a reading
	Flags string  // those of the CPU, from Linux; empty: unknown
}

// LookAtClock finds it out, in some microseconds.
func LookAtClock(scale cycles.Scale) Clock {
	f := Clock{Step: clockStep(scale), Cost: scale.Overhead()}
	if runtime.GOARCH == "amd64" {
		info, _ := os.ReadFile("/proc/cpuinfo") // without it nobody knows
		f.Flags = cpuFlags(string(info))
	}
	return f
}

// step is the least difference of two readings, of many.
func clockStep(scale cycles.Scale) float64 {
	least := uint64(math.MaxUint64)
	last := cycles.Now()
	for range 1000 {
		now := cycles.Now()
		if d := now - last; d != 0 && d < least {
			least = d
		}
		last = now
	}
	if least == math.MaxUint64 {
		return math.Inf(1)
	}
	return float64(least) * 1e9 / scale.PerSecond()
}

// flags returns those of the first CPU in /proc/cpuinfo.
func cpuFlags(info string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "flags" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// coarse is how many nanoseconds a step, or a reading, may take: a tenth of the fastest
// operations that are measured.
const coarseClock = 100

// Doubt is what is wrong with a clock; empty if nothing is.
func (f Clock) Doubt() string {
	words := strings.Fields(f.Flags)
	switch {
	case f.Step > coarseClock:
		return fmt.Sprintf("the clock is coarse: it goes in steps of %.0f ns, and shorter latencies are not told apart; use --batch, or another machine", f.Step)
	case f.Cost > coarseClock:
		return fmt.Sprintf("the clock is slow: a reading takes %.0f ns, which every timed operation includes; see that the system lets programs read the counter (clocksource tsc)", f.Cost)
	case f.Flags != "" && !(slices.Contains(words, "constant_tsc") && slices.Contains(words, "nonstop_tsc")):
		return "the time-stamp counter may change its rate or stop (the CPU lacks constant_tsc or nonstop_tsc): keep the CPU at one frequency, or use another machine"
	}
	return ""
}

// ClockWatch compares the counter with the clock of the system.
type ClockWatch struct {
	scale cycles.Scale
	time  time.Time
	tick  uint64
}

// WatchClock begins to compare.
func WatchClock(scale cycles.Scale) ClockWatch { return ClockWatch{scale, time.Now(), cycles.Now()} }

// Doubt says that the two went apart since; empty if they did not.
func (w ClockWatch) Doubt() string {
	return apart(float64(w.scale.Nanos(cycles.Now()-w.tick)), float64(time.Since(w.time)))
}

const (
	// enough is how many nanoseconds two clocks are compared for at least.
	watchAtLeast = 1e8
	// drift is the share by which they may differ.
	drift = 0.01
)

func apart(counter, system float64) string {
	if system < watchAtLeast || math.Abs(counter-system) <= drift*system {
		return ""
	}
	return fmt.Sprintf("the time-stamp counter and the clock of the system differ by %.1f %%: the counter has changed its rate, or the system was stopped; measure again",
		100*math.Abs(counter-system)/system)
}
