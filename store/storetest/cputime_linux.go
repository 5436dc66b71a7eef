package storetest

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is how long the calling thread has had a processor: what others do
// meanwhile does not count. The caller stays on its thread.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("storetest: the clock of a thread: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
