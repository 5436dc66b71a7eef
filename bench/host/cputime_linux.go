package host

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessTime returns the CPU time of this process.
func ProcessTime() (time.Duration, error) { return rusage(unix.RUSAGE_SELF) }

// ThreadTime returns that of the calling thread.
func ThreadTime() (time.Duration, error) { return rusage(unix.RUSAGE_THREAD) }

// PerThread says that Thread is of the thread alone.
const PerThread = true

func rusage(who int) (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0, fmt.Errorf("CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
