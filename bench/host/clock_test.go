package host

import (
	"math"
	"strings"
	"testing"

	"github.com/remora-kv/remora/internal/cycles"
)

const good = "fpu tsc constant_tsc nonstop_tsc"

func TestDoubts(t *testing.T) {
	for want, f := range map[string]Clock{
		"":           {Step: 10, Cost: 10, Flags: good},
		"steps of":   {Step: 1000, Cost: 10, Flags: good},
		"a reading":  {Step: 10, Cost: 700, Flags: good},
		"its rate":   {Step: 10, Cost: 10, Flags: "fpu tsc constant_tsc"},
		"steps of +": {Step: math.Inf(1)},
	} {
		if got := f.Doubt(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if got := (Clock{Step: 40, Cost: 20}).Doubt(); got != "" {
		t.Errorf("of a CPU without flags: %q", got)
	}
}

func TestLook(t *testing.T) {
	if f := LookAtClock(cycles.Calibrate()); !(f.Step > 0) || f.Cost < 0 {
		t.Errorf("%+v cannot be", f)
	}
	if got := cpuFlags("processor : 0\nflags\t\t: a b\nflags : c\n"); got != "a b" {
		t.Errorf("flags are %q", got)
	}
}

func TestClocksApart(t *testing.T) {
	for _, tc := range []struct {
		counter, system float64
		doubt           bool
	}{{1e9, 1e9, false}, {1.005e9, 1e9, false}, {1.02e9, 1e9, true}, {0.5e9, 1e9, true}, {2e7, 1e7, false}} {
		if got := apart(tc.counter, tc.system); (got != "") != tc.doubt {
			t.Errorf("%v against %v: %q", tc.counter, tc.system, got)
		}
	}
	if got := WatchClock(cycles.Calibrate()).Doubt(); got != "" {
		t.Errorf("at once: %q", got)
	}
}
