package storetest

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of the calling thread, so that other processes do not
// count. The caller must be locked to its thread.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("storetest: cannot read the CPU time of the thread: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
