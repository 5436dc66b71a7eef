package call

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU returns the CPU time of this process.
func processCPU() (time.Duration, error) { return cpuTime(unix.RUSAGE_SELF) }

// threadCPU returns that of the calling thread.
func threadCPU() (time.Duration, error) { return cpuTime(unix.RUSAGE_THREAD) }

// perThread says that threadCPU is of the thread alone.
const perThread = true

func cpuTime(who int) (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0, fmt.Errorf("CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
