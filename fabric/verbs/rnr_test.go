package verbs

import (
	"math"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// What the adapter waits is never less than asked for, and not much more.
func TestPlanRNR(t *testing.T) {
	for timeout := time.Microsecond; timeout < 2300*time.Millisecond; timeout += timeout/7 + 1 {
		p := planRNR(timeout)
		waits := time.Duration(p.retries) * rnrTime(p.timer)
		if p.limit != 0 || p.retries != rnrRetries {
			t.Fatalf("%v: %+v", timeout, p)
		}
		if waits < timeout || waits > 2*timeout+100*time.Microsecond {
			t.Errorf("%v: the adapter waits %v", timeout, waits)
		}
	}
	if p := planRNR(0); p.retries != 0 || p.limit != 0 {
		t.Errorf("at once: %+v", p)
	}
	if p := planRNR(fabric.RNRForever); p.retries != rnrEndless || p.limit != 0 {
		t.Errorf("forever: %+v", p)
	}
	for _, timeout := range []time.Duration{3 * time.Second, time.Hour} {
		if p := planRNR(timeout); p.retries != rnrEndless || p.limit != timeout {
			t.Errorf("%v: %+v", timeout, p)
		}
	}
	// As long as can be said is longer than any program runs.
	for _, timeout := range []time.Duration{math.MaxInt64, math.MaxInt64 / 5 * 4} {
		p := planRNR(timeout)
		if p.retries != rnrEndless || p.limit < 24*time.Hour || int64(p.limit) > math.MaxInt64/2 {
			t.Errorf("%v: %+v", timeout, p)
		}
	}
}
