package verbs

import (
	"time"

	"github.com/remora-kv/remora/fabric"
)

// rnrTimers are the times that a receiver can ask a sender to wait when it has
// no receive posted, in microseconds, by their codes in the protocol of the
// adapters.
var rnrTimers = [32]int{
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
	2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
	163840, 245760, 327680, 491520,
}

const (
	rnrRetries = 6  // as often as it can be counted
	rnrEndless = 7  // is not counted
	rnrPatient = 12 // the code of the time between attempts without end
	// rnrLongest is a century; sums with longer times would overflow.
	rnrLongest = 100 * 365 * 24 * time.Hour
)

// rnrPlan is how an RC queue pair waits for receives of its peer.
type rnrPlan struct {
	// retries is set at the sender, timer (a code) at the receiver.
	retries, timer int
	// limit, when not 0, is when this side gives up in place of the adapter.
	limit time.Duration
}

// planRNR returns the plan for an RNRTimeout. Both ends compute it. An adapter
// may begin to count a little late, so it is given a quarter more.
func planRNR(timeout time.Duration) rnrPlan {
	if timeout == 0 {
		return rnrPlan{retries: 0, timer: rnrPatient}
	}
	if timeout == fabric.RNRForever {
		return rnrPlan{retries: rnrEndless, timer: rnrPatient}
	}
	timeout = min(timeout, rnrLongest)
	each := (timeout + timeout/4 + rnrRetries - 1) / rnrRetries
	for code := 1; code < len(rnrTimers); code++ {
		if rnrTime(code) >= each {
			return rnrPlan{retries: rnrRetries, timer: code}
		}
	}
	return rnrPlan{retries: rnrEndless, timer: rnrPatient, limit: timeout}
}

// rnrTime returns the time that a code stands for.
func rnrTime(code int) time.Duration { return time.Duration(rnrTimers[code]) * time.Microsecond }
