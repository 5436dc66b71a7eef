package host

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/remora-kv/remora/internal/cycles"
)

func TestNow(t *testing.T) {
	if x := Speed(cycles.Calibrate()); x < 1 || x > 1e5 {
		t.Errorf("%v steps in a microsecond", x)
	}
}

func TestRange(t *testing.T) {
	for _, tc := range []struct {
		speeds []float64
		doubt  string
	}{{nil, ""}, {[]float64{800, 0}, ""}, {[]float64{800, 760, 790}, ""}, {[]float64{800, 1000, 900}, "20 %"}} {
		var r SpeedRange
		for _, x := range tc.speeds {
			r.Add(x)
		}
		if got := r.Doubt(); !strings.Contains(got, tc.doubt) || (tc.doubt == "") != (got == "") {
			t.Errorf("%v: %q", tc.speeds, got)
		}
	}
}

func TestThrottled(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	sys := fstest.MapFS{
		"cpu0/thermal_throttle/core_throttle_count":    file("3\n"),
		"cpu0/thermal_throttle/package_throttle_count": file("4\n"),
		"cpu1/thermal_throttle/core_throttle_count":    file("5\n"),
		"cpu2/thermal_throttle/core_throttle_count":    file("x\n"),
	}
	if n, err := throttled(sys, []int{0, 1}); err != nil || n != 12 {
		t.Errorf("%d, %v", n, err)
	}
	for _, cpu := range []int{2, 3} {
		if n, err := throttled(sys, []int{cpu}); err == nil {
			t.Errorf("CPU %d was throttled %d times", cpu, n)
		}
	}
}
